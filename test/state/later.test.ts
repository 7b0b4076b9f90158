import { describe, expect, it, onTestFinished } from 'vitest';
import type { FaultServer } from '../../src/fault-server.js';
import { gatesOf } from '../../src/gates.js';
import type { FaultServerOptions } from '../../src/index.js';
import { resolveOptions } from '../../src/resolve-options.js';
import { namedRule } from '../../src/resolve-script.js';
import { startNamed } from '../../src/server.js';
import type { SharedState } from '../../src/state/ask.js';
import { memoryState } from '../../src/state/memory-state.js';
import { post, type Witness, witness } from '../support/witness.js';

/** A server whose state answers later does on the wire what one does that has it in itself. */
const CHAT = '/v1/chat/completions';
const same = (name: string): string => name;

interface Held {
  readonly server: FaultServer;
  /** Takes that wait for their answer. */
  readonly waiting: (() => void)[];
  /** Resolves when so many takes wait. */
  asked(count: number): Promise<void>;
}

/** A server with a state that answers a turn of the event loop later, or when it is let. */
async function later(given: FaultServerOptions, hold = false): Promise<Held> {
  const options = resolveOptions({ randomSeed: 7, ...given }, same);
  const { rules, script, maxLanes, catalogue } = options;
  const named = (spec: Parameters<typeof namedRule>[0]) => namedRule(spec, 'rule', catalogue);
  const memory = memoryState({ rules, seed: script.seed, maxLanes, named });
  const waiting: (() => void)[] = [];
  const watchers: (() => void)[] = [];
  const state: SharedState = {
    ...memory,
    away: undefined,
    take: async (ask) => {
      await new Promise<void>((resolve) => {
        if (!hold) {
          setImmediate(resolve);
          return;
        }
        waiting.push(resolve);
        for (const watcher of watchers) watcher();
      });
      return memory.take(ask);
    },
  };
  const server = await startNamed(
    {
      randomSeed: 7,
      ...given,
      within: {
        membership: { state, member: 1, journal: undefined },
        gates: gatesOf(),
        controlElsewhere: false,
        target: (own) => own,
      },
    },
    same,
  );
  onTestFinished(() => server.close());
  const asked = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (waiting.length >= count) resolve();
      };
      watchers.push(look);
      look();
    });
  return { server, waiting, asked };
}

const KEPT = post(CHAT, { stream: true, text: 'x'.repeat(300) });
const LAST = post(CHAT, { stream: true, text: 'x'.repeat(300) }, { Connection: 'close' });
const EXPECT = post(CHAT, { text: 'y'.repeat(50) }, { Connection: 'close', Expect: '100-continue' });

/** What a client sends on one connection, and how. */
const CLIENTS: Readonly<Record<string, (client: Witness) => Promise<void>>> = {
  'one request': async (client) => client.send(LAST),
  'two at once': async (client) => client.send(KEPT + LAST),
  'byte by byte': async (client) => {
    await client.connected;
    for (const byte of LAST) {
      client.send(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
  },
  'a head, and its body behind it': async (client) => {
    const [head = '', body = ''] = EXPECT.split(/(?<=\r\n\r\n)/);
    client.send(head);
    // It does not wait to be asked, which some faults never do; it may be asked all the same.
    for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
    client.send(body);
  },
  'a part, and no more': async (client) => {
    client.send(LAST.slice(0, 200));
    client.halfClose();
  },
};

const SEQUENCES: readonly NonNullable<FaultServerOptions['sequence']>[] = [
  ['success', 'rate_limit'],
  ['rst@accept', 'success'],
  ['success', 'rst@accept', 'success'],
  ['rst@request:40', 'rst_now@request:3', 'success'],
  ['expectation_failed', { request: { continue: 'withhold' } }, 'success'],
  ['rst_during_upload', 'early_response', 'success'],
  ['stream_disconnect', 'rst@event:2', 'partial_eof'],
];

/** Of one connection after the other: what came of it, for the client and in the ledgers. */
async function trace(
  server: FaultServer,
  sequence: readonly unknown[],
  send: (client: Witness) => Promise<void>,
): Promise<unknown> {
  const seen: unknown[] = [];
  for (const _ of sequence) {
    const client = witness(server.port);
    await send(client);
    const end = await client.ended;
    const text = client.received.toString('latin1').replaceAll('HTTP/1.1 100 Continue\r\n\r\n', '');
    // Node tells a reset as an end where bytes came before it; the ledger has how it was.
    seen.push(text === '' ? end : [text.match(/HTTP\/1\.1 \d+/g), text.length]);
  }
  await server.idle();
  const ledgers = server.ledgers.toSorted((one, other) => one.exchange - other.exchange);
  const told = ledgers.map(
    ({ selection, attempt, cut, outcome, teardown, requestBytes, request, bytes, onConnection }) => {
      const { bodyBytes = null } = request ?? {};
      return {
        selection,
        attempt,
        cut,
        outcome,
        kind: teardown.kind,
        requestBytes,
        bodyBytes,
        written: bytes.written,
        onConnection,
      };
    },
  );
  return { seen, told };
}

describe('the same on the wire', () => {
  for (const sequence of SEQUENCES) {
    for (const [name, send] of Object.entries(CLIENTS)) {
      it(`${sequence.map((word) => JSON.stringify(word)).join(', ')}: ${name}`, async () => {
        const options = { sequence, repeatLast: true, disconnectDelayMs: 0, chunkDelayMs: 0 };
        const own = await startNamed({ randomSeed: 7, ...options }, same);
        onTestFinished(() => own.close());
        const { server } = await later(options);
        expect(await trace(server, sequence, send)).toEqual(await trace(own, sequence, send));
      });
    }
  }
});

describe('a client that does not wait', () => {
  it('is gone when the answer comes: what was taken for it is in the books, and no more', async () => {
    const { server, waiting, asked } = await later({ sequence: ['rate_limit', 'success'] }, true);
    const client = witness(server.port);
    client.send(KEPT);
    await asked(1);
    client.reset();
    await client.ended;
    // A request behind it, on another connection: the reset was read before.
    const other = witness(server.port);
    other.send('GET /health HTTP/1.1\r\nConnection: close\r\n\r\n');
    await other.ended;
    waiting[0]?.();
    expect(await server.ledger(1)).toMatchObject({
      attempt: 1,
      selection: { behavior: 'rate_limit' },
      outcome: 'client_closed',
      bytes: { written: 0 },
    });
  });

  it('sends on: nothing that it sends is answered before its turn', async () => {
    const { server, waiting, asked } = await later({ sequence: ['rate_limit', 'auth_error', 'success'] }, true);
    const client = witness(server.port);
    client.send(KEPT + KEPT);
    await asked(1);
    client.send(KEPT);
    waiting[0]?.();
    await asked(2);
    await client.until((bytes) => bytes.includes('HTTP/1.1 429'));
    expect(client.received.toString('latin1').match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 429']);
    waiting[1]?.();
    await asked(3);
    waiting[2]?.();
    await client.until((bytes) => bytes.includes('[DONE]'));
    expect(client.received.toString('latin1').match(/HTTP\/1\.1 \d+/g)).toEqual([
      'HTTP/1.1 429',
      'HTTP/1.1 401',
      'HTTP/1.1 200',
    ]);
    client.close();
  });

  it('has the server closed under it: the books are complete when that is done', async () => {
    const { server, waiting, asked } = await later({ sequence: ['rate_limit'] }, true);
    const client = witness(server.port);
    client.send(KEPT);
    await asked(1);
    const closed = server.close();
    await client.ended;
    waiting[0]?.();
    await closed;
    expect(server.ledgers).toMatchObject([{ attempt: 1, outcome: 'server_closed', bytes: { written: 0 } }]);
  });
});
