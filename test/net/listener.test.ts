import net from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { listen } from '../../src/net/listener.js';
import { client, connects, echoed, listening, WAYS } from './listening.js';

/** Far longer than a test. */
const FOREVER_MS = 600_000;

/** Refusals for a time, and windows in windows; the other kinds have files of their own. */
describe('a refusal for a time', () => {
  for (const [host, to] of WAYS) {
    it(`${host}, to ${to}: connects are refused until it ends, and open connections live on`, async () => {
      const { listener, port, log, windows } = await listening(listen, { host });
      const open = client(port, to);
      expect(await echoed(open, 'before')).toBe('before');
      listener.refuse(40);
      expect(await echoed(open, 'in it')).toBe('in it');
      while (log.length < 3) if ((await connects(port, to)) === 'connected') break;
      expect(log).toEqual(['listening', 'refuse', 'listening']);
      expect(windows).toEqual([{ kind: 'refuse', ms: 40 }]);
      expect(await connects(port, to)).toBe('connected');
      expect(await echoed(open, 'after')).toBe('after');
    });
  }

  it('a window in a window adds up', async () => {
    const { listener, port, log, windows } = await listening(listen, {});
    const startMs = performance.now();
    listener.refuse(40);
    listener.refuse(40);
    expect(await connects(port)).toBe('ECONNREFUSED');
    await listener.whenListening();
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(80);
    expect(log).toEqual(['listening', 'refuse', 'refuse', 'listening']);
    expect(windows[1]).toMatchObject({ kind: 'refuse', ms: expect.closeTo(80, -2) });
  });

  it('windows of one kind before the first connection are one', async () => {
    const first = [{ kind: 'refuse', ms: FOREVER_MS }] as const;
    const { port, log, windows } = await listening(listen, { refuseFirstMs: FOREVER_MS, first });
    expect(await connects(port)).toBe('ECONNREFUSED');
    expect(windows).toEqual([{ kind: 'refuse', ms: 2 * FOREVER_MS }]);
    expect(log).toEqual(['refuse']);
  });

  it('one that comes while the port is being bound again closes it again', async () => {
    const { listener, port, log } = await listening(listen, {});
    listener.refuse(1);
    const { listen: bind } = net.Server.prototype;
    const asked = new Promise<void>((resolve) => {
      vi.spyOn(net.Server.prototype, 'listen').mockImplementation(function (this: net.Server, ...args: unknown[]) {
        listener.refuse(FOREVER_MS);
        this.once('listening', resolve);
        return Reflect.apply(bind, this, args);
      });
    });
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    await asked;
    expect(await connects(port)).toBe('ECONNREFUSED');
    expect(log).toEqual(['listening', 'refuse', 'refuse']);
  });
});
