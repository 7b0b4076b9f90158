import { EventEmitter, once } from 'node:events';
import net, { type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { replyPlan } from '../../src/fault/reply-plan.js';
import { knownHeads } from '../../src/http/known-heads.js';
import type { BadRequest } from '../../src/http/request.js';
import { serveConnection } from '../../src/net/connection.js';
import type { Handler, Job } from '../../src/net/job.js';
import { callbacksKernel } from '../../src/proof/kernel.js';
import { recordConnection } from '../../src/proof/recorder.js';
import { rounds } from '../../src/proof/rounds.js';
import { settler } from '../../src/proof/settle.js';
import { readAnswer } from '../support/http.js';
import { post, type Witness, witness } from '../support/witness.js';

/** The time limits of a connection at a real socket and a clock that stands still until it is told. */
const TIMEOUT_MS = 500;
const LINGER_MS = 1000;
const MAX_LINGER_MS = 30_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Pair {
  readonly client: Witness;
  /** The server's end. */
  readonly socket: Socket;
  readonly bad: readonly BadRequest[];
  /** Resolves once the turn of the `count`th request has come. */
  handled(count: number): Promise<void>;
  /** Sends, and waits until the server has read it. */
  send(bytes: string): Promise<void>;
}

async function connected(answer: () => Job, given: Partial<Handler> = {}): Promise<Pair> {
  const listener = net.createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const client = witness(address.port);
  const [socket]: Socket[] = await once(listener, 'connection');
  if (!socket) throw new Error('no connection');
  const bad: BadRequest[] = [];
  let requests = 0;
  const handling = new EventEmitter();
  const deps = {
    limits: { maxHeadBytes: 4096, maxBodyBytes: 100_000 },
    heads: knownHeads(false),
    requestTimeoutMs: TIMEOUT_MS,
    timeScale: 1,
    gate: () => expect.fail('no plan here has a gate'),
    onBad: (one: BadRequest) => bad.push(one),
    onIdle: () => expect.fail('no plan here goes on behind its answer'),
    onClose: () => {},
  };
  const connection = serveConnection(socket, deps, {
    number: 1,
    recorder: recordConnection(socket, callbacksKernel, { settler: settler(), rounds: rounds() }),
    handler: {
      early: () => undefined,
      head: () => 'read',
      request: () => {
        requests++;
        handling.emit('request');
        return answer();
      },
      ...given,
    },
  });
  onTestFinished(() => {
    client.close();
    connection.destroy();
    listener.close();
  });
  return {
    client,
    socket,
    bad,
    handled: async (count) => {
      while (requests < count) await once(handling, 'request');
    },
    send: async (bytes) => {
      const read = socket.bytesRead + Buffer.byteLength(bytes);
      client.send(bytes);
      while (socket.bytesRead < read) await once(socket, 'data');
    },
  };
}

const REPLY = replyPlan({ status: 200, headers: [], body: 'ok' }, { keepAlive: true });
const immediately = (): Job => ({ plan: REPLY });
const laterBy = (ms: number) => (): Job => ({ plan: { ...REPLY, steps: [{ op: 'wait', ms }, ...REPLY.steps] } });

const WHOLE = post('/', {});
const HALF = WHOLE.slice(0, -1);
const EXPECTANT = post('/', {}, { Expect: '100-continue' }).slice(0, -2);

function answered(received: Buffer): boolean {
  return readAnswer(received)?.complete === true;
}

describe('the time limit of a request', () => {
  it('runs from its first byte, whatever else comes', async () => {
    const { client, bad, send } = await connected(immediately);
    await send(HALF.slice(0, 5));
    vi.advanceTimersByTime(TIMEOUT_MS - 1);
    await send(HALF.slice(5));
    expect(bad).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(bad).toMatchObject([{ status: 408 }]);
    expect(await client.ended).toBe('fin');
  });

  it('starts anew for the next request, also where both came in one piece', async () => {
    const { client, bad, send } = await connected(immediately);
    await send(HALF);
    vi.advanceTimersByTime(TIMEOUT_MS - 1);
    await send(WHOLE.slice(-1) + HALF);
    await client.until(answered);
    vi.advanceTimersByTime(TIMEOUT_MS - 1);
    expect(bad).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(bad).toMatchObject([{ status: 408 }]);
    expect(await client.ended).toBe('fin');
  });

  it('does not run between requests', async () => {
    const { client, bad, send, socket } = await connected(immediately);
    vi.advanceTimersByTime(TIMEOUT_MS * 10);
    await send(`\r\n${WHOLE}\r\n`);
    await client.until(answered);
    vi.advanceTimersByTime(TIMEOUT_MS * 10);
    expect(bad).toEqual([]);
    expect(socket.destroyed).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not run out for a client that waits for its 100, but does after it', async () => {
    const { client, bad, send } = await connected(laterBy(TIMEOUT_MS * 5));
    await send(WHOLE + EXPECTANT);
    vi.advanceTimersByTime(TIMEOUT_MS * 5 - 1);
    expect(bad).toEqual([]);
    vi.advanceTimersByTime(1);
    await client.until((received) => received.toString().endsWith('100 Continue\r\n\r\n'));
    vi.advanceTimersByTime(TIMEOUT_MS);
    expect(bad).toMatchObject([{ status: 408 }]);
  });

  it('does not run out while the server itself does not read', async () => {
    const { client, bad, send, socket, handled } = await connected(laterBy(TIMEOUT_MS * 5));
    await send(WHOLE.repeat(17) + HALF);
    expect(socket.isPaused()).toBe(true);
    vi.advanceTimersByTime(TIMEOUT_MS * 5 - 1);
    expect(bad).toEqual([]);
    // Room again: the rest is read, and in time.
    vi.advanceTimersByTime(1);
    await client.until(answered);
    expect(socket.isPaused()).toBe(false);
    await send(WHOLE.slice(-1));
    for (let n = 2; n <= 18; n++) {
      await handled(n);
      vi.advanceTimersByTime(TIMEOUT_MS * 5);
    }
    expect(bad).toEqual([]);
  });
});

describe('lingering after a close', () => {
  /** A connection that the server has closed, with a client that doesn't look, and so keeps its side open. */
  async function lingering(): Promise<Pair> {
    const pair = await connected(immediately);
    pair.client.pause();
    await pair.send('nonsense\r\n');
    if (!pair.socket.writableFinished) await once(pair.socket, 'finish');
    return pair;
  }

  it('lasts a second after the last byte, then the connection is gone', async () => {
    const { socket, send } = await lingering();
    vi.advanceTimersByTime(LINGER_MS - 1);
    await send('more');
    vi.advanceTimersByTime(LINGER_MS - 1);
    expect(socket.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(socket.destroyed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('has an end, however much comes', async () => {
    const { socket, send } = await lingering();
    const start = performance.now();
    while (!socket.destroyed && performance.now() - start < 2 * MAX_LINGER_MS) {
      await send('more');
      vi.advanceTimersByTime(LINGER_MS - 100);
    }
    expect(socket.destroyed).toBe(true);
    expect(performance.now() - start).toBeGreaterThanOrEqual(MAX_LINGER_MS);
  });

  it('ends with the client, and leaves no timer', async () => {
    const { client, socket } = await lingering();
    client.resume();
    if (!socket.closed) await once(socket, 'close');
    expect(vi.getTimerCount()).toBe(0);
  });
});
