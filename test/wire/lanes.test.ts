import seedrandom from 'seedrandom';
import { describe, expect, it } from 'vitest';
import type { FaultServerOptions } from '../../src/index.js';
import { readAnswer } from '../support/http.js';
import { asking, selecting } from '../support/selecting.js';
import { serve } from '../support/server.js';
import { post, witnessed } from '../support/witness.js';

/** Lanes at real sockets: concurrent callers never disturb each other, in whatever order their requests arrive. */
const PATH = '/v1/chat/completions';
const CLIENTS = 64;
const REQUESTS = 64;
const ATTEMPTS = 3;

const RANDOM: FaultServerOptions = {
  sequence: ['random'],
  repeatLast: true,
  randomSeed: 42,
  randomWeights: { success: 3, rate_limit: 2, auth_error: 1, empty: 1, partial_disconnect: 2, no_terminal: 1 },
  chunkDelayMs: 0,
  disconnectDelayMs: 0,
};

/** What changes on a retry: a counter deep in the body, and a time. */
function bodyOf(request: number, attempt: number): object {
  const messages = [{ role: 'user', content: `question ${request}`, sentAt: `${request}:${attempt}` }];
  return { stream: request % 2 === 0, messages, metadata: { marker: `wirefault:r${request}a${attempt}`, user: 'u' } };
}

const IGNORED = ['metadata.marker', 'messages[-1].sentAt'];

interface LaneSetting {
  readonly laneBy: string;
  readonly laneIgnore?: readonly string[];
}
const BY_BODY: LaneSetting = { laneBy: 'body', laneIgnore: IGNORED };
const BY_HEADER: LaneSetting = { laneBy: 'header:X-Lane' };

function shuffled<T>(items: readonly T[], seed: string): T[] {
  const random = seedrandom.alea(seed);
  return items
    .map((item) => [random(), item] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);
}

const headersOf = (request: number) => ({ Connection: 'close', 'X-Lane': `request-${request}` });

/** What each request and attempt got: the behavior by the ledger, and what the witness saw. */
type Got = Readonly<Record<string, string>>;

/** 64 clients at a time, each with one request after the other and its retries, over `workers` servers. */
async function run(setting: LaneSetting, order: string, workers = 1): Promise<Got> {
  const options = { ...RANDOM, ...setting, ledgerHistory: REQUESTS * ATTEMPTS };
  const servers = await Promise.all(Array.from({ length: workers }, () => serve(options)));
  const waiting = shuffled(
    Array.from({ length: REQUESTS }, (_, n) => n),
    order,
  );
  const seen = new Map<string, string>();
  const client = async (): Promise<void> => {
    for (let request = waiting.pop(); request !== undefined; request = waiting.pop()) {
      // All of a lane goes to one worker.
      const port = servers[request % workers]?.port ?? 0;
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const { bytes, end } = await witnessed(port, post(PATH, bodyOf(request, attempt), headersOf(request)));
        const answer = readAnswer(bytes);
        seen.set(`r${request}a${attempt}`, `${answer?.status} ${end} ${answer?.complete} ${answer?.body.length}`);
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  await Promise.all(servers.map((server) => server.idle()));
  const got = servers
    .flatMap((server) => server.ledgers)
    .map(({ request, selection, attempt, lane }) => {
      const marker = request?.marker ?? '';
      return [marker, `${lane} ${attempt} ${selection.behavior}: ${seen.get(marker)}`] as const;
    });
  expect(got).toHaveLength(REQUESTS * ATTEMPTS);
  await Promise.all(servers.map((server) => server.close()));
  return Object.fromEntries(got.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

describe(`${CLIENTS} concurrent clients, seed 42`, () => {
  for (const [by, setting] of Object.entries({ body: BY_BODY, header: BY_HEADER })) {
    it(`by ${by}: the same request and attempt get the same fault in five runs, in any order of arrival`, async () => {
      const first = await run(setting, 'order 1');
      for (const order of ['order 2', 'order 3', 'order 4', 'order 5'])
        expect(await run(setting, order)).toEqual(first);

      // As many different faults as there are, and others for other attempts.
      const behaviors = new Set(Object.values(first).map((told) => told.split(' ')[2]));
      expect(behaviors.size).toBe(6);
      // Without sockets the same are chosen.
      const selector = selecting({ ...RANDOM, ...setting });
      for (let request = 0; request < REQUESTS; request++)
        for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
          const headers = { 'x-lane': `request-${request}` };
          const chosen = selector.request(asking({ body: { ...bodyOf(request, attempt) }, headers }));
          if (chosen.kind !== 'behavior') throw new Error(chosen.kind);
          expect(first[`r${request}a${attempt}`]).toMatch(`${chosen.lane} ${attempt} ${chosen.behavior}: `);
        }
    });

    it(`by ${by}: the same on one worker or several`, async () => {
      expect(await run(setting, 'order 6', 3)).toEqual(await run(setting, 'order 7'));
    });
  }

  it('without lanes one cursor is shared, in the order of arrival', async () => {
    const server = await serve({ sequence: ['rate_limit', 'success'], repeatLast: true });
    const answers = await Promise.all(
      Array.from({ length: CLIENTS }, (_, n) => witnessed(server.port, post(PATH, bodyOf(n, 1), headersOf(n)))),
    );
    expect(answers.filter(({ bytes }) => readAnswer(bytes)?.status === 429)).toHaveLength(1);
  });
});

describe('retries of one request', () => {
  it('walk one lane, whatever others do between; another question begins anew', async () => {
    const server = await serve({ ...BY_BODY, sequence: ['rate_limit', 'auth_error', 'success'] });
    const ask = async (request: number, attempt: number): Promise<number | undefined> =>
      readAnswer((await witnessed(server.port, post(PATH, bodyOf(request, attempt), headersOf(request)))).bytes)
        ?.status;
    const statuses = await Promise.all(
      Array.from({ length: CLIENTS }, async (_, n) => {
        const got: unknown[] = [];
        for (let attempt = 1; attempt <= 4; attempt++) got.push(await ask(n, attempt));
        return got;
      }),
    );
    expect(statuses).toEqual(Array.from({ length: CLIENTS }, () => [429, 401, 200, 500]));
    const lanes = new Set(server.ledgers.map(({ lane }) => lane));
    expect([...lanes].every((lane) => /^body-[0-9a-f]{16}$/.test(lane))).toBe(true);
    expect(lanes.size).toBe(CLIENTS);
  });

  it('without laneIgnore are other requests where something changed', async () => {
    const server = await serve({ laneBy: 'body', sequence: ['rate_limit', 'success'] });
    for (let attempt = 1; attempt <= 2; attempt++) {
      const { bytes } = await witnessed(server.port, post(PATH, bodyOf(1, attempt), headersOf(1)));
      expect(readAnswer(bytes)?.status).toBe(429);
    }
  });
});

describe('a bound on lanes', () => {
  it('lets the least recently used go, and the journal says so', async () => {
    const server = await serve({
      laneBy: 'header:X-Lane',
      maxLanes: 2,
      sequence: ['rate_limit', 'auth_error', 'success'],
    });
    const lanes = [1, 2, 1, 3, 1, 2];
    const statuses: unknown[] = [];
    for (const [n, lane] of lanes.entries())
      statuses.push(
        readAnswer((await witnessed(server.port, post(PATH, bodyOf(lane, n), headersOf(lane)))).bytes)?.status,
      );
    await server.idle();
    // 3 pushes 2 out, and 2 then 3.
    expect(statuses).toEqual([429, 429, 401, 429, 200, 429]);
    expect(server.ledgers.map(({ droppedLanes, attempt }) => [droppedLanes, attempt])).toEqual([
      [0, 1],
      [0, 1],
      [0, 2],
      [1, 1],
      [1, 3],
      [2, 1],
    ]);
  });
});
