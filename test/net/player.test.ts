import { EventEmitter, once } from 'node:events';
import net, { type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Step, WirePlan } from '../../src/fault/wire-plan.js';
import type { Playback, PlayEnd, PlayHooks } from '../../src/net/play.js';
import { play } from '../../src/net/player.js';
import { flushedOf } from '../../src/proof/counters.js';
import { client } from './listening.js';

/** A player at a real socket, whose client is another real socket: what of its bytes it says the kernel has taken. */
interface Played {
  readonly socket: Socket;
  /** Reads nothing before it is told. */
  readonly reader: Socket;
  readonly playback: Playback;
  readonly end: Promise<PlayEnd>;
  /** What plays on once there is nothing more to write. */
  readonly rest: Promise<Playback>;
}

/** More than the kernel takes of a client that doesn't read. */
const MUCH_BYTES = 40_000_000;

async function played(bytes: Buffer, steps: readonly Step[], hooks: Partial<PlayHooks> = {}): Promise<Played> {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true });
  onTestFinished(() => {
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const reader = client(port);
  const [socket]: Socket[] = await once(server, 'connection');
  if (!socket) throw new Error('no connection');
  socket.on('error', () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  const plan: WirePlan = { bytes, marks: [], steps, closes: false, unapplied: [] };
  const told = new EventEmitter();
  const end = once(told, 'end').then(([what]): PlayEnd => what);
  const rest = once(told, 'rest').then(([resting]): Playback => resting);
  const playback = play(socket, plan, {
    timeScale: 1,
    onLast: () => {},
    settle: () => expect.fail('no plan here settles'),
    gate: () => expect.fail('no plan here has a gate'),
    beforeReset: () => {},
    beforeFin: () => {},
    onRest: (resting) => told.emit('rest', resting),
    onEnd: (what) => told.emit('end', what),
    ...hooks,
  });
  return { socket, reader, playback, end, rest };
}

function pieces(count: number, length: number, between: readonly Step[] = []): Step[] {
  return Array.from({ length: count }, (_, n): Step[] => [
    ...(n > 0 ? between : []),
    { op: 'write', start: n * length, end: (n + 1) * length },
  ]).flat();
}

async function received(reader: Socket, length: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let got = 0;
  for await (const chunk of reader) {
    chunks.push(chunk);
    got += chunk.length;
    if (got >= length) break;
  }
  return Buffer.concat(chunks);
}

const text = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, n) => n % 251));

describe('bytes that the kernel has taken', () => {
  for (const kind of ['fin', 'rst_now'] as const) {
    it(`are told where the answer ends by ${kind} in the turn of its last write`, async () => {
      const { playback, end } = await played(text(30), [...pieces(3, 10), { op: 'teardown', kind }]);
      playback.begin();
      expect(await end).toMatchObject({ how: 'done', flushedBytes: 30 });
    });
  }

  for (const kind of ['keep_alive', 'eof'] as const) {
    it(`are all of a slow client's answer before it is done: ${kind}`, async () => {
      const bytes = Buffer.alloc(MUCH_BYTES, 'x');
      const steps = [...pieces(4, MUCH_BYTES / 4), { op: 'teardown', kind } as const];
      const { playback, end, socket, reader } = await played(bytes, steps);
      let over = false;
      void end.then(() => {
        over = true;
      });
      playback.begin();
      await new Promise(setImmediate);
      expect(over).toBe(false);
      const held = end.then((told) => ({ told, left: socket.writableLength, taken: flushedOf(socket) }));
      const all = received(reader, MUCH_BYTES);
      expect(await held).toEqual({
        told: expect.objectContaining({ how: 'done', flushedBytes: MUCH_BYTES }),
        left: 0,
        taken: MUCH_BYTES,
      });
      expect((await all).length).toBe(MUCH_BYTES);
    });
  }

  it('never end an answer within the turn in which it begins, where its connection goes on', async () => {
    let turn = true;
    const ends: boolean[] = [];
    const steps = [...pieces(2, 10), { op: 'teardown', kind: 'keep_alive' } as const];
    const { playback, reader } = await played(text(20), steps, { onEnd: () => ends.push(turn) });
    playback.begin();
    turn = false;
    expect(await received(reader, 20)).toEqual(text(20));
    expect(ends).toEqual([false]);
  });

  it('are whole writes, of an answer that its client leaves unread', async () => {
    const bytes = Buffer.alloc(MUCH_BYTES, 'x');
    const pause: Step = { op: 'wait', ms: 0.001 };
    const steps = [...pieces(40, MUCH_BYTES / 40, [pause]), { op: 'teardown', kind: 'keep_alive' } as const];
    const { playback, end, socket } = await played(bytes, steps);
    playback.begin();
    await expect.poll(() => socket.writableLength).toBeGreaterThan(0);
    const taken = flushedOf(socket) ?? 0;
    playback.abort('client');
    const { how, flushedBytes } = await end;
    expect(how).toBe('client_closed');
    expect(taken).toBeGreaterThan(0);
    expect(taken - flushedBytes).toBeGreaterThanOrEqual(0);
    expect(taken - flushedBytes).toBeLessThan(MUCH_BYTES / 40);
  });

  it('are in their order for a client that reads late, however they were handed over', async () => {
    const bytes = text(4_000_000);
    const steps = [...pieces(400, 10_000, [{ op: 'wait', ms: 0.01 }]), { op: 'teardown', kind: 'eof' } as const];
    const { playback, end, reader, socket } = await played(bytes, steps);
    // Somebody else's bytes are in front.
    const before = Buffer.alloc(MUCH_BYTES, 'b');
    socket.write(before);
    playback.begin();
    const all = await received(reader, MUCH_BYTES + bytes.length);
    expect(all.subarray(0, MUCH_BYTES).equals(before)).toBe(true);
    expect(all.subarray(MUCH_BYTES).equals(bytes)).toBe(true);
    expect(await end).toMatchObject({ how: 'done', flushedBytes: bytes.length });
  });
});

describe('an answer that rests', () => {
  it('is played on by its rest, which tells its end once', async () => {
    for (const [kind, act, how] of [
      ['stall', (rest: Playback) => rest.clientEnded(), 'client_closed'],
      ['half_close', (rest: Playback) => rest.clientEnded(), 'done'],
      ['stall', (rest: Playback) => rest.abort('server'), 'server_closed'],
      ['half_close', (rest: Playback) => rest.abort('client'), 'client_closed'],
    ] as const) {
      const ends: PlayEnd[] = [];
      const steps = [...pieces(2, 10), { op: 'teardown', kind } as const];
      const { playback, rest } = await played(text(20), steps, { onEnd: (end) => ends.push(end) });
      playback.begin();
      const resting = await rest;
      expect(resting).not.toBe(playback);
      expect(resting.silent()).toBe(true);
      expect(ends).toEqual([]);
      act(resting);
      act(resting);
      resting.abort('server');
      expect(ends).toEqual([{ how, reached: { op: 'teardown', kind }, flushedBytes: 20 }]);
    }
  });

  it('counts what its client takes later', async () => {
    const bytes = Buffer.alloc(MUCH_BYTES, 'x');
    const { playback, rest, end, reader, socket } = await played(bytes, [
      ...pieces(1, MUCH_BYTES),
      { op: 'teardown', kind: 'stall' },
    ]);
    playback.begin();
    const resting = await rest;
    expect(resting.silent()).toBe(true);
    expect((await received(reader, MUCH_BYTES)).length).toBe(MUCH_BYTES);
    await expect.poll(() => socket.writableLength).toBe(0);
    resting.clientEnded();
    expect(await end).toMatchObject({ how: 'client_closed', flushedBytes: MUCH_BYTES });
  });
});
