import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { LoadReport } from '../../src/load/load-report.js';
import { loadSchema } from '../../src/load/load-report.js';
import { askedBody, askedHeaders, askedUrl } from '../../src/load/request.js';
import { type LoadOptions, runLoad } from '../../src/load/run.js';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { certificates, hasOpenssl, secureUpstream } from '../proxy/support/certificates.js';
import { rawUpstream } from '../proxy/support/upstream.js';
import { serve } from '../support/server.js';

interface Wanted extends Partial<Omit<LoadOptions, 'url'>> {
  readonly protocol?: Protocol;
}

function load(base: string, wanted: Wanted = {}): Promise<LoadReport> {
  const { protocol = 'openai-chat', stream = true } = wanted;
  return runLoad({
    url: askedUrl(new URL(base), protocol),
    protocol,
    stream,
    body: askedBody({ protocol, stream, model: undefined, prompt: undefined }),
    headers: askedHeaders(protocol, undefined, []),
    concurrency: 4,
    requests: 8,
    durationMs: undefined,
    readBytesPerSecond: undefined,
    timeoutMs: 15_000,
    ca: undefined,
    insecure: false,
    laneHeader: undefined,
    signal: undefined,
    progressEveryMs: 1000,
    ...wanted,
  });
}

const counts = ({ ends }: LoadReport): Record<string, number> =>
  Object.fromEntries(ends.map(({ kind, count }) => [kind, count]));

const EVENT = 'data: {"choices":[]}\n\n';

/** What each behavior comes to at a client. */
const ENDS_OF: Readonly<Record<string, string>> = {
  success: 'complete',
  'rst@event:3': 'reset',
  'eof@event:5': 'no_terminal',
  fin_at: 'closed',
  chunk_cut_data: 'closed',
  length_over: 'closed',
  no_terminal: 'no_terminal',
  stream_error: 'api_error',
  malformed_json: 'malformed',
  garbage_status: 'malformed',
  service_unavailable: 'http_503',
  rate_limit: 'http_429',
  fin_before_headers: 'closed',
  connection_reset: 'reset',
};

describe('ends by kind', () => {
  it.each(PROTOCOLS)('%s: are those that the server made', async (protocol) => {
    const behaviors = Object.keys(ENDS_OF);
    const script = Array.from({ length: 3 }, () => behaviors).flat();
    const server = await serve({ sequence: script as 'success'[] });
    const report = loadSchema.parse(await load(server.baseURL, { protocol, requests: script.length }));
    await server.idle();
    const made: Record<string, number> = {};
    for (const { selection } of server.ledgers) {
      const kind = ENDS_OF[selection.scripted] ?? selection.scripted;
      made[kind] = (made[kind] ?? 0) + 1;
    }
    expect(counts(report)).toEqual(made);
    expect(server.ledgers.filter(({ outcome }) => outcome === 'reset').length).toBe(counts(report).reset);
    expect(report).toMatchObject({ started: script.length, ended: script.length, stoppedBy: null, retryAfter: 3 });
  });

  it('one that ends the connection with it is reset all the same', async () => {
    const upstream = await rawUpstream(Buffer.from(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${EVENT}`));
    const report = await load(upstream.url, {
      requests: 2,
      concurrency: 1,
      progressEveryMs: 5,
      // Once the client has got the event.
      onProgress: ({ events }) => upstream.connections[events - 1]?.resetAndDestroy(),
    });
    expect(counts(report)).toEqual({ reset: 2 });
  });

  it('a reset right behind data is a reset', async () => {
    const server = await serve({ sequence: ['rst_undrained'], repeatLast: true });
    expect(counts(await load(server.baseURL, { requests: 100, concurrency: 8 }))).toEqual({ reset: 100 });
  });

  it('silence is a timeout, behind the head and before it', async () => {
    const server = await serve({ sequence: ['stall', 'accept_silent', 'terminal_no_close'] });
    const report = await load(server.baseURL, { requests: 3, concurrency: 1, timeoutMs: 400 });
    expect(report.ends).toEqual([{ kind: 'timeout', count: 3, afterTerminal: 1, error: 'nothing came for 400 ms' }]);
    expect(report.connections).toBe(3);
    expect(report.ms.whole).toBeNull();
  });

  it('a closed port refuses', async () => {
    const upstream = await rawUpstream(Buffer.alloc(0));
    await upstream.close();
    const report = await load(upstream.url, { requests: 6, concurrency: 3 });
    expect(report).toMatchObject({ connections: 0, ends: [{ kind: 'refused', count: 6 }] });
  });

  it('one JSON instead of a stream', async () => {
    const server = await serve({ sequence: ['success', 'json_error_200', 'F1', 'server_error'] });
    const report = await load(server.baseURL, { requests: 4, concurrency: 1, stream: false });
    expect(counts(report)).toEqual({ complete: 1, api_error: 1, reset: 1, http_500: 1 });
    expect(report).toMatchObject({ events: 0, ms: { firstEvent: null, gap: null } });
  });

  it('no final answer, but a hundred others before it', async () => {
    const server = await serve({ sequence: ['informational_storm'] });
    expect(counts(await load(server.baseURL, { requests: 1 }))).toEqual({ complete: 1 });
  });
});

describe('counts', () => {
  it('events and bytes are those of the ledgers, and connections are kept', async () => {
    const server = await serve({ sequence: ['success'], repeatLast: true });
    const report = await load(server.baseURL, { requests: 40, concurrency: 4 });
    await server.idle();
    const sent = server.ledgers
      .flatMap(({ events }) => Object.values(events))
      .reduce((sum, one) => sum + one.flushed, 0);
    expect(report).toMatchObject({ events: sent, keepAlives: 0, connections: 4, ended: 40 });
    expect(new Set(server.ledgers.map(({ connection }) => connection)).size).toBe(4);
    expect(report.ms.whole?.count).toBe(40);
    expect(report.ms.gap?.count).toBe(sent - 40);
  });

  it('no more connections than requests', async () => {
    const server = await serve({ sequence: ['success'], repeatLast: true });
    expect(await load(server.baseURL, { requests: 2, concurrency: 50 })).toMatchObject({ connections: 2, ended: 2 });
  });

  it('the connection is the lane', async () => {
    const server = await serve({ sequence: ['success', 'no_terminal'], laneBy: 'header:x-lane' });
    const report = await load(server.baseURL, { requests: 8, concurrency: 4, laneHeader: 'x-lane' });
    await server.idle();
    // Who is quicker asks more often, but each asks at least once, and is the first in its lane.
    expect(new Set(server.ledgers.map(({ lane }) => lane))).toEqual(new Set(['1', '2', '3', '4']));
    expect(counts(report).complete).toBe(4);
  });
});

/** A timer can be early by a millisecond, and both clocks are rounded. */
const EARLY_MS = 2;

describe('times', () => {
  it('are as the server planned them', async () => {
    const server = await serve({
      sequence: ['keepalive_then_success'],
      keepaliveMs: 30,
      keepaliveCount: 3,
      repeatLast: true,
    });
    const { ms, keepAlives } = await load(server.baseURL, { requests: 4 });
    expect(keepAlives).toBe(12);
    const { head, firstEvent, firstContent, whole } = ms;
    const smallest = [head, firstEvent, firstContent, whole].map((spread) => spread?.min ?? Number.NaN);
    expect(smallest).toEqual(smallest.toSorted((a, b) => a - b));
    expect(firstContent?.min).toBeGreaterThanOrEqual(3 * (30 - EARLY_MS));
    // The head isn't held back by them.
    expect(head?.min).toBeLessThan(firstContent?.min ?? 0);
  });

  it('gaps are those of a paced stream', async () => {
    const server = await serve({ sequence: ['slow_success'], chunkDelayMs: 40, chunkSize: 4, repeatLast: true });
    const { ms } = await load(server.baseURL, { requests: 4 });
    const deltas = Math.ceil('mock response recovered'.length / 4);
    expect(ms.whole?.min).toBeGreaterThanOrEqual(deltas * (40 - EARLY_MS));
    // Most gaps are between two deltas; a late one makes the next as much shorter.
    expect(ms.gap?.p50).toBeGreaterThanOrEqual(20);
    expect(ms.gap?.p50).toBeLessThanOrEqual(400);
  });

  it('a slow reader makes the server wait, as the kernel tells it', async (context) => {
    const bytesPerSecond = 400_000;
    const server = await serve({
      sequence: ['rst@events'],
      successText: 'x'.repeat(200_000),
      chunkSize: 2000,
      fidelity: 'plain',
      settleTimeoutMs: 10_000,
    });
    const report = await load(server.baseURL, { requests: 1, readBytesPerSecond: bytesPerSecond });
    const { settled, bytes } = await server.ledger(1);
    expect(report.elapsedMs).toBeGreaterThanOrEqual((report.bodyBytes / bytesPerSecond) * 1000 * 0.8);
    if (settled?.level !== 'read') context.skip('the kernel of this machine does not tell what a client has read');
    expect(settled).toMatchObject({ reached: true });
    // What the last read took out of the kernel is still held back.
    expect(settled?.waitedMs).toBeGreaterThanOrEqual((bytes.written / bytesPerSecond) * 1000 * 0.7);
    expect(counts(report)).toEqual({ reset: 1 });
    expect(report.ends[0]?.afterTerminal).toBe(1);
  });
});

describe('an early end', () => {
  it('stops what is under way when the time is over', async () => {
    const server = await serve({ sequence: ['success', 'stall'], repeatLast: true });
    const report = await load(server.baseURL, { requests: undefined, durationMs: 800, concurrency: 3 });
    expect(report).toMatchObject({ stoppedBy: 'duration', started: 4, ended: 4 });
    expect(counts(report)).toEqual({ complete: 1, stopped: 3 });
    expect((await server.results(4)).map(({ outcome }) => outcome)).toEqual([
      'completed',
      'stalled',
      'stalled',
      'stalled',
    ]);
  });

  it('stops at a signal', async () => {
    const server = await serve({ sequence: ['stall'], repeatLast: true });
    const stopping = new AbortController();
    const running = load(server.baseURL, { signal: stopping.signal });
    await server.event(({ type }) => type === 'request');
    stopping.abort();
    expect(await running).toMatchObject({ stoppedBy: 'signal', ends: [{ kind: 'stopped', count: 4, error: null }] });
    const aborted = AbortSignal.abort();
    expect(await load(server.baseURL, { signal: aborted })).toMatchObject({ stoppedBy: 'signal', started: 0 });
  });

  it('stops, and is a timeout, also while it connects', async () => {
    // It accepts, and says nothing to a handshake of TLS.
    const upstream = await rawUpstream(Buffer.alloc(0));
    const url = upstream.url.replace('http', 'https');
    const stopped = await load(url, { requests: 1, durationMs: 100 });
    expect(stopped).toMatchObject({ stoppedBy: 'duration', connections: 0, ends: [{ kind: 'stopped', count: 1 }] });
    const silent = await load(url, { requests: 1, timeoutMs: 100 });
    expect(silent.ends).toEqual([{ kind: 'timeout', count: 1, afterTerminal: 0, error: 'nothing came for 100 ms' }]);
  });

  it('tells how it goes on', async () => {
    const server = await serve({ sequence: ['stall'], repeatLast: true });
    const stopping = new AbortController();
    const told = await new Promise((resolve) => {
      load(server.baseURL, {
        signal: stopping.signal,
        progressEveryMs: 5,
        onProgress: (progress) => {
          if (progress.started < 4) return;
          stopping.abort();
          resolve(progress);
        },
      });
    });
    expect(told).toMatchObject({ started: 4, ended: 0, failed: 0, events: 0 });
  });

  it('a request that can not be made is refused', async () => {
    await expect(load('http://127.0.0.1:1', { headers: [['keep-alive', 'x']] })).rejects.toMatchObject({
      code: 'bad_option',
    });
  });
});

describe.skipIf(!hasOpenssl)('TLS', () => {
  const file = certificates();
  const answer = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\ndata: [DONE]\n\n');

  it('with an authority of its own, not checked, and refused', async () => {
    const { url } = await secureUpstream(file, 'right', answer);
    const ca = readFileSync(file('ca.pem'));
    expect(counts(await load(url, { ca }))).toEqual({ complete: 8 });
    expect(counts(await load(url, { insecure: true, readBytesPerSecond: 100_000 }))).toEqual({ complete: 8 });
    expect(counts(await load(url, { requests: 2 }))).toEqual({ connect_failed: 2 });
  });
});
