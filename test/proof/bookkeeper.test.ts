import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { onlyAttempt, type Selection } from '../../src/fault/script.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import { startFaultServer } from '../../src/index.js';
import type { Bookkeeper } from '../../src/proof/bookkeeper.js';
import type { Journal } from '../../src/proof/journal.js';
import type { Ledger } from '../../src/proof/ledger.js';
import type { ExchangeEvidence, ExchangeRecorder } from '../../src/proof/recorder.js';
import { serve } from '../support/server.js';
import { post, witness, witnessed } from '../support/witness.js';
import { BARE_HEAD, booksOf } from './ledgers.js';

const ASK = post('/v1/chat/completions', {}, { Connection: 'close' });

const EVIDENCE: ExchangeEvidence = {
  client: { address: null, port: null },
  server: { address: null, port: null },
  connectionOffset: 0,
  bytes: { written: 1, flushed: 1, acked: 1, read: 1 },
  stale: false,
  settled: undefined,
  endedBy: undefined,
};

/** A recorder whose evidence comes when the test says so. */
interface HandRecorder extends ExchangeRecorder {
  tell(): void;
}

function handRecorder(): HandRecorder {
  let told: ((seen: ExchangeEvidence) => void) | undefined;
  return {
    settle: () => {},
    beforeTeardown: () => {},
    evidence: (_end, done) => {
      told = done;
    },
    tell: () => told?.(EVIDENCE),
  };
}

const plan: WirePlan = { bytes: Buffer.from('x'), marks: [], steps: [], closes: false, unapplied: [] };

const EXHAUSTED: Selection = { kind: 'exhausted', lane: 'default', attempt: 1 };

/** Opens an exchange; the returned function ends it. */
function open(books: Bookkeeper, recorder: ExchangeRecorder, selection: Selection = EXHAUSTED): () => void {
  const head = BARE_HEAD;
  const exchange = books.open({
    connection: 1,
    onConnection: 1,
    head,
    request: { ...head, body: Buffer.alloc(0) },
    protocol: 'openai-chat',
    selection,
    generation: 1,
    droppedLanes: 0,
    plan,
  });
  return () =>
    exchange.ended(
      { outcome: 'completed', teardown: 'keep_alive', flushedBytes: 1, goesOn: true, requestBytes: 0 },
      recorder,
    );
}

/** Whether the promise is settled when everything that can happen now has happened. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(() => {
    settled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

async function collected(ledgers: AsyncIterable<Ledger>): Promise<number[]> {
  const exchanges: number[] = [];
  for await (const { exchange } of ledgers) exchanges.push(exchange);
  return exchanges;
}

describe('idle', () => {
  it('waits for exchanges, for their evidence, and for the journal', async () => {
    let written = (): void => {};
    const flushed = new Promise<void>((resolve) => {
      written = resolve;
    });
    const lines: string[] = [];
    const books = booksOf({
      journal: { append: (line) => lines.push(String(line)), flush: () => flushed, close: async () => {} },
    });
    const [one, two] = [handRecorder(), handRecorder()];
    const ends = [open(books, one), open(books, two)];
    const idle = books.idle();
    expect(await isSettled(idle)).toBe(false);
    for (const end of ends) end();
    expect(await isSettled(idle)).toBe(false);
    two.tell();
    expect(await isSettled(idle)).toBe(false);
    one.tell();
    expect(await isSettled(idle)).toBe(false);
    // In the order in which they were settled.
    expect(lines.map((line) => JSON.parse(line).exchange)).toEqual([2, 1]);
    written();
    expect(await isSettled(idle)).toBe(true);
  });

  it('waits for an exchange that began meanwhile', async () => {
    const books = booksOf();
    const [one, two] = [handRecorder(), handRecorder()];
    open(books, one)();
    const idle = books.idle();
    const endTwo = open(books, two);
    one.tell();
    expect(await isSettled(idle)).toBe(false);
    endTwo();
    two.tell();
    expect(await isSettled(idle)).toBe(true);
  });

  it('of a server resolves once the ledger is in the file', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'wirefault-idle-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    const journal = join(dir, 'journal');
    const server = await serve({ journal, repeatLast: true });
    await server.idle();
    for (let n = 1; n <= 20; n++) {
      await witnessed(server.port, ASK);
      await server.idle();
      expect(server.ledgers).toHaveLength(n);
      expect(String(await readFile(journal)).match(/\n/g)).toHaveLength(n);
    }
  });

  it('of a server does not resolve while one is stalled', async () => {
    const server = await serve({ sequence: ['stall'] });
    const client = witness(server.port);
    client.send(ASK);
    await client.until((bytes) => bytes.includes('\r\n\r\n'));
    const idle = server.idle();
    expect(await isSettled(idle)).toBe(false);
    client.close();
    await idle;
    expect(server.ledgers).toHaveLength(1);
  });
});

describe('the ledgers', () => {
  it('are the newest ones', async () => {
    const server = await serve({ ledgerHistory: 3 });
    const live = () => server.ledgers;
    for (let n = 1; n <= 5; n++) {
      await witnessed(server.port, ASK);
      await server.ledger(n);
      expect(live().length).toBe(Math.min(n, 3));
    }
    expect(live().map(({ exchange }) => exchange)).toEqual([3, 4, 5]);
  });

  it('are not kept with a history of 0, and are written all the same', async () => {
    const lines: string[] = [];
    const journal: Journal = {
      append: (line) => lines.push(String(line)),
      flush: async () => {},
      close: async () => {},
    };
    const books = booksOf({ history: 0, journal });
    const recorder = handRecorder();
    open(books, recorder)();
    recorder.tell();
    await books.idle();
    expect(books.ledgers()).toEqual([]);
    expect(lines).toHaveLength(1);
  });

  it('are the same in memory and in the journal, and count a key once', async () => {
    const key = { name: 'header:x', value: 'one', nth: 1, since: new Date(0) };
    const keyed: Selection = { ...onlyAttempt({ name: 'success', fault: {} }, 'default'), key };
    for (const history of [0, 10]) {
      const lines: string[] = [];
      const journal: Journal = {
        append: (line) => lines.push(String(line)),
        flush: async () => {},
        close: async () => {},
      };
      const books = booksOf({ history, journal });
      for (const selection of [keyed, EXHAUSTED, keyed]) {
        const recorder = handRecorder();
        open(books, recorder, selection)();
        recorder.tell();
      }
      await books.idle();
      const written = lines.map((line): Ledger => JSON.parse(line));
      expect(written.map((ledger) => ledger.key?.delivered)).toEqual([1, undefined, 2]);
      expect(books.ledgers().map((ledger) => JSON.stringify(ledger))).toEqual(history > 0 ? lines : []);
    }
  });

  it('are made for nobody where nobody wants them', async () => {
    const books = booksOf({ history: 0 });
    const recorder = { ...handRecorder(), evidence: () => expect.fail('nobody wants evidence') };
    open(books, recorder)();
    await books.idle();
  });

  it('a bad history is refused', async () => {
    for (const ledgerHistory of [-1, 1.5, Number.NaN]) {
      await expect(startFaultServer({ ledgerHistory })).rejects.toMatchObject({ code: 'bad_option' });
    }
  });
});

describe('the ledger of an exchange', () => {
  it('can be waited for before, and asked for after', async () => {
    const server = await serve({});
    const before = [server.ledger(2), server.ledger(1), server.ledger(2)];
    await witnessed(server.port, ASK);
    await witnessed(server.port, ASK);
    const [second, first, again] = await Promise.all(before);
    expect([first?.exchange, second?.exchange]).toEqual([1, 2]);
    expect(again).toBe(second);
    expect(await server.ledger(1)).toBe(first);
    expect(await server.ledger(2)).toBe(second);
    await server.close();
    expect(await server.ledger(1)).toBe(first);
  });
});

describe('following', () => {
  it('gives each ledger once to each follower, and ends with the server', async () => {
    const server = await serve({ ledgerHistory: 1 });
    const all = collected(server.followLedgers());
    await witnessed(server.port, ASK);
    await server.ledger(1);
    const late = collected(server.followLedgers());
    for (let n = 2; n <= 4; n++) await witnessed(server.port, ASK);
    await server.close();
    expect((await all).sort()).toEqual([1, 2, 3, 4]);
    expect((await late).sort()).toEqual([2, 3, 4]);
  });

  it('keeps what comes before the first look', async () => {
    const server = await serve({});
    const ledgers = server.followLedgers();
    await witnessed(server.port, ASK);
    await server.idle();
    expect((await ledgers.next()).value).toMatchObject({ exchange: 1 });
    const waiting = ledgers.next();
    await server.close();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  it('can be left', async () => {
    const server = await serve({});
    const seen: number[] = [];
    const leaving = (async () => {
      for await (const { exchange } of server.followLedgers()) {
        seen.push(exchange);
        break;
      }
    })();
    await witnessed(server.port, ASK);
    await leaving;
    await witnessed(server.port, ASK);
    await server.idle();
    expect(seen).toEqual([1]);
  });

  it('of a server that is stalled ends after the last ledger', async () => {
    const server = await serve({ sequence: ['stall'] });
    const all = collected(server.followLedgers());
    const client = witness(server.port);
    client.send(ASK);
    await client.until((bytes) => bytes.includes('\r\n\r\n'));
    await server.close();
    expect(await all).toEqual([1]);
  });

  it('of a closed server ends at once', async () => {
    const server = await serve({});
    await server.close();
    expect(await collected(server.followLedgers())).toEqual([]);
  });
});
