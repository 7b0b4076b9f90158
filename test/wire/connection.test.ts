import { constants, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { FaultServerOptions } from '../../src/index.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import type { InConnection } from '../support/behaviors.js';
import { bodyOf, type Exchanging, exchanged, isJson, requestOf, type SeenExchange } from '../support/exchange.js';
import { type Answer, headerOf, readAnswer } from '../support/http.js';
import { planner } from '../support/plans.js';
import { type Served, serve } from '../support/server.js';
import { readEvents } from '../support/sse.js';
import { expectVerdict, PATHS, stop, truncated } from '../support/verdicts.js';
import { post, type WireEnd, witness, witnessed } from '../support/witness.js';

/**
 * Heads and framings that lie, connections that end at the wrong time, and time itself: in every protocol at real
 * sockets, for requests that stream and for those that don't. Where a client could read no answer, it is the exact bytes
 * that tell.
 */
interface Case {
  readonly name: InConnection;
  readonly protocol: Protocol;
  readonly stream: boolean;
  /** One exchange, whose request says close. */
  seen(given?: Partial<Exchanging>): Promise<SeenExchange>;
  serve(options?: FaultServerOptions): Promise<Served>;
  /** The request, on a connection that may be used again. */
  readonly request: string;
}

type Check = (at: Case) => Promise<void>;

const latin1 = (bytes: Buffer): string => bytes.toString('latin1');

function answerIn(bytes: Buffer): Answer {
  const answer = readAnswer(bytes);
  if (!answer) throw new Error(`no head in ${JSON.stringify(latin1(bytes.subarray(0, 200)))}`);
  return answer;
}

/** The head, its empty line included, and what stands behind it. */
function parted(bytes: Buffer, end = '\r\n\r\n'): { readonly head: string; readonly rest: Buffer } {
  const at = bytes.indexOf(end) + end.length;
  return { head: latin1(bytes.subarray(0, at)), rest: bytes.subarray(at) };
}

const valuesOf = (answer: Answer, name: string): string[] =>
  answer.headers.filter(([known]) => known === name).map(([, value]) => value);

/** All that a healthy answer says. */
function expectHealthyBody({ protocol, stream }: Case, body: Buffer): void {
  if (stream) expectVerdict(protocol, body, stop[protocol]);
  else expect(JSON.parse(String(body))).toMatchObject({ model: 'mock-model' });
}

/** All of the text, and no end. */
function expectCutBody({ protocol, stream }: Case, body: Buffer): void {
  if (stream) expectVerdict(protocol, body, truncated[protocol]);
  else expect(isJson(String(body))).toBe(false);
  expect(String(body)).toContain(stream ? 'mock res' : 'mock response recovered');
}

function expectHealthy(at: Case, bytes: Buffer): Answer {
  const answer = answerIn(bytes);
  expect({ status: answer.status, complete: answer.complete, rest: answer.rest.length }).toEqual({
    status: 200,
    complete: true,
    rest: 0,
  });
  expectHealthyBody(at, answer.body);
  return answer;
}

/** Something else goes through the server and its sockets meanwhile: what could have come by now has come. */
async function somethingElse(server: Served): Promise<void> {
  for (let n = 0; n < 3; n++) await witnessed(server.port, 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n');
}

/** Not a byte of an answer to a request that was read. */
const silent =
  (end: WireEnd, outcome: string): Check =>
  async (at) => {
    const seen = await at.seen();
    expect({ bytes: seen.bytes.length, end: seen.end }).toEqual({ bytes: 0, end });
    expect(seen.ledger).toMatchObject({
      outcome,
      request: { protocol: at.protocol, bodyBytes: expect.any(Number) },
      requestBytes: 0,
      bytes: { written: 0 },
    });
  };

function expectEarly(ledger: Ledger, outcome: string, requestBytes: number): void {
  expect(ledger).toMatchObject({ outcome, request: null, requestBytes, bytes: { written: 0 } });
}

/** A whole answer, whose head has a line that must not be there. */
const strangeHeader =
  (line: string): Check =>
  async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const { head } = parted(bytes);
    expect(head.split(line)).toHaveLength(2);
    expectHealthy(at, Buffer.from(latin1(bytes).replace(line, '\r\n'), 'latin1'));
  };

/** A chunk whose size line can't be read, with the rest as it has to be. */
const strangeSize =
  (size: string): Check =>
  async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const { head, rest } = parted(bytes);
    expect(latin1(rest).startsWith(`${size}\r\n`)).toBe(true);
    // With its true size it is a healthy answer. No body has CR and LF in it.
    const length = rest.subarray(size.length + 2).indexOf('\r\n');
    const repaired = `${head}${length.toString(16)}${latin1(rest.subarray(size.length))}`;
    expectHealthy(at, Buffer.from(repaired, 'latin1'));
  };

/** Two lengths, or a wrong one, above a body that is whole. */
const strangeLength =
  (lengths: (body: Buffer) => string[], complete: (answer: Answer) => void = () => {}): Check =>
  async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const { rest } = parted(bytes);
    const answer = answerIn(bytes);
    expect(valuesOf(answer, 'content-length')).toEqual(lengths(rest));
    expect(valuesOf(answer, 'transfer-encoding')).toEqual([]);
    expectHealthyBody(at, rest);
    complete(answer);
  };

/** A FIN in a chunk, whose bytes so far are `pattern`. */
const cutInChunk =
  (pattern: RegExp): Check =>
  async (at) => {
    const { bytes, end, ledger } = await at.seen();
    expect(end).toBe('fin');
    expect(valuesOf(answerIn(bytes), 'transfer-encoding')).toEqual(['chunked']);
    expect(latin1(parted(bytes).rest)).toMatch(pattern);
    expect(ledger).toMatchObject({ outcome: 'closed', bytes: { written: bytes.length } });
  };

/** A whole answer in a chunked body whose end is `tail`. */
const strangeEnd =
  (tail: string): Check =>
  async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const answer = answerIn(bytes);
    expect(answer.complete).toBe(false);
    expect(latin1(bytes).endsWith(`${at.stream ? '\n\n' : '}'}\r\n${tail}`)).toBe(true);
    expectHealthyBody(at, answer.body);
    expectHealthy(at, Buffer.concat([bytes, Buffer.from('0\r\n\r\n'.slice(tail.length))]));
  };

/** Answers of the same length each time. */
const FIXED = { fidelity: 'plain', requestId: 'req_fixed' } as const;

const TABLE: Record<InConnection, Check> = {
  connection_reset: silent('rst', 'reset'),
  rst_before_headers: silent('rst', 'reset'),
  fin_before_headers: silent('fin', 'closed'),

  accept_silent: async (at) => {
    const seen = await at.seen({
      open: async (_, server) => {
        await server.event(({ type }) => type === 'request');
        await somethingElse(server);
      },
    });
    expect(seen.bytes.length).toBe(0);
    expect(seen.ledger).toMatchObject({
      outcome: 'stalled',
      request: { protocol: at.protocol, bodyBytes: expect.any(Number) },
      bytes: { written: 0 },
      teardown: { kind: 'stall', first: 'client_fin' },
    });
  },

  zero_window: async (at) => {
    const server = await at.serve({ maxBodyBytes: 2 ** 30 });
    const client = witness(server.port);
    await client.connected;
    client.send(post(PATHS[at.protocol], Buffer.alloc(64 * 2 ** 20, 'x').toString('latin1')));
    await somethingElse(server);
    // The kernels have taken what they have room for, and nobody makes more.
    const { unsent } = client;
    expect(unsent).toBeGreaterThan(0);
    await somethingElse(server);
    expect(client.unsent).toBe(unsent);
    // A FIN would wait for room, too.
    client.reset();
    const ledger = await server.ledger(1);
    expect(ledger.teardown).toEqual({ kind: 'stall', first: 'client_rst' });
    expectEarly(ledger, 'stalled', 0);
    expect(client.received.length).toBe(0);
  },

  fin_on_accept: async (at) => {
    const server = await at.serve();
    const client = witness(server.port);
    expect(await client.ended).toBe('fin');
    expect(client.received.length).toBe(0);
    expectEarly(await server.ledger(1), 'closed', 0);
  },

  rst_on_accept: async (at) => {
    const { bytes, end, ledger } = await at.seen();
    expect({ bytes: bytes.length, end }).toEqual({ bytes: 0, end: 'rst' });
    expectEarly(ledger, 'reset', 0);
  },

  rst_unread_request: async (at) => {
    // The pause is what makes sure that there is something unread.
    const { bytes, end, ledger } = await at.seen({ options: { disconnectDelayMs: 100 } });
    expect({ bytes: bytes.length, end }).toEqual({ bytes: 0, end: 'rst' });
    expectEarly(ledger, 'closed', 0);
    expect(ledger.teardown).toEqual({ kind: 'fin', first: 'server' });
  },

  rst_during_upload: async (at) => {
    const { bytes, end, ledger } = await at.seen();
    expect({ bytes: bytes.length, end }).toEqual({ bytes: 0, end: 'rst' });
    expectEarly(ledger, 'reset', 100);
  },

  rst_drained: async (at) => {
    const { bytes, end, ledger } = await at.seen();
    expect(end).toBe('rst');
    const answer = answerIn(bytes);
    expect(answer.complete).toBe(false);
    if (at.stream) {
      expect(answer.chunks).toHaveLength(1);
      expectVerdict(at.protocol, answer.body, truncated[at.protocol]);
    } else expect(isJson(String(answer.body))).toBe(false);
    expect(ledger).toMatchObject({
      outcome: 'reset',
      cut: { position: 'event:1', offset: bytes.length },
      bytes: { written: bytes.length },
      settled: { reached: true },
    });
  },

  rst_undrained: async (at) => {
    // A Node client that gets data and RST at once mostly sees an end; the flag itself is seen in a capture.
    const { bytes, ledger } = await at.seen();
    expect(bytes.length).toBeLessThanOrEqual(ledger.bytes.written);
    expect(ledger).toMatchObject({
      outcome: 'reset',
      cut: { position: 'deltas', offset: ledger.bytes.written },
      settled: null,
      teardown: { kind: 'rst_now', first: 'server' },
    });
    expect(ledger.plan.bytes).toBeGreaterThan(ledger.bytes.written);
  },

  fin_at: async (at) => {
    const { bytes, end, ledger } = await at.seen();
    const answer = answerIn(bytes);
    expect({ end, complete: answer.complete }).toEqual({ end: 'fin', complete: false });
    expectCutBody(at, answer.body);
    expect(ledger).toMatchObject({ outcome: 'closed', cut: { position: 'deltas', offset: bytes.length } });
  },

  half_close: async (at) => {
    const server = await at.serve();
    const client = witness(server.port, '127.0.0.1', { staysOpen: true });
    client.send(at.request);
    expect(await client.ended).toBe('fin');
    expectCutBody(at, answerIn(client.received).body);
    // What the client still sends is read, and nothing comes of it; the exchange goes on until it closes.
    client.send(at.request);
    await somethingElse(server);
    expect(server.requests.map(({ outcome }) => outcome)).toEqual([undefined]);
    client.close();
    expect(await server.ledger(1)).toMatchObject({
      outcome: 'closed',
      teardown: { kind: 'half_close', first: 'server' },
      bytes: { written: client.received.length },
    });
  },

  slow_close: async (at) => {
    const server = await at.serve({ keepaliveMs: 100 });
    const client = witness(server.port);
    client.send(at.request);
    await client.until((bytes) => readAnswer(bytes)?.complete === true);
    expect(server.requests.map(({ outcome }) => outcome)).toEqual([undefined]);
    expect(await client.ended).toBe('fin');
    expect(headerOf(expectHealthy(at, client.received), 'connection')).toBe('close');
    const { times, outcome } = await server.ledger(1);
    expect({ outcome, plannedWaitMs: times.plannedWaitMs }).toEqual({ outcome: 'closed', plannedWaitMs: 100 });
    expect(times.teardownMs).toBeGreaterThanOrEqual(95);
  },

  stall_at: async (at) => {
    const plan = planner(FIXED)('stall_at', at.protocol, { body: bodyOf(at) });
    const server = await at.serve(FIXED);
    const client = witness(server.port);
    client.send(at.request);
    const { offset = Number.NaN } = plan.cut ?? {};
    await client.until((bytes) => bytes.length >= offset);
    await somethingElse(server);
    expect(client.received.length).toBe(offset);
    expectCutBody(at, answerIn(client.received).body);
    client.close();
    expect(await server.ledger(1)).toMatchObject({ outcome: 'stalled', teardown: { first: 'client_fin' } });
  },

  stall_resume: async (at) => {
    const seen = await at.seen({ options: { keepaliveMs: 60 } });
    expectHealthy(at, seen.bytes);
    expect(seen.ledger).toMatchObject({ outcome: 'completed', cut: null, times: { plannedWaitMs: 60 } });
    expect(seen.ledger.times.endMs).toBeGreaterThanOrEqual(55);
    if (!at.stream) return;
    // The first event with its chunk, and the rest by itself.
    const first = seen.bytes.indexOf('\n\n\r\n') + 4;
    expect(seen.reads[0]?.length).toBe(first);
  },

  drip: async (at) => {
    const seen = await at.seen();
    expectHealthy(at, seen.bytes);
    expect(seen.ledger.times.plannedWaitMs).toBe(2 * (Math.ceil(seen.bytes.length / 16) - 1));
    // Not all are sure to be read one by one; but many are, and each read has whole ones.
    expect(seen.reads.length).toBeGreaterThan(10);
    for (const { length } of seen.reads.slice(0, -1)) expect(length % 16).toBe(0);
  },

  throttle: async (at) => {
    const seen = await at.seen();
    expectHealthy(at, seen.bytes);
    const segments = Math.ceil(seen.bytes.length / 500);
    expect(segments).toBeGreaterThan(1);
    expect(seen.ledger.times.plannedWaitMs).toBe(50 * (segments - 1));
    expect(seen.ledger.times.endMs).toBeGreaterThanOrEqual(50 * (segments - 1) - 5);
    expect(seen.reads[0]?.length).toBe(500);
  },

  coalesce: async (at) => {
    const seen = await at.seen();
    const { chunks } = expectHealthy(at, seen.bytes);
    expect(chunks).toHaveLength(at.stream ? 1 : 0);
    expect(seen.ledger.times.plannedWaitMs).toBe(0);
  },

  mime_lie: async (at) => {
    const { bytes, end } = await at.seen();
    const answer = answerIn(bytes);
    expect({ end, status: answer.status, complete: answer.complete }).toEqual({
      end: 'fin',
      status: 200,
      complete: true,
    });
    expect(valuesOf(answer, 'content-type')).toEqual(['text/event-stream; charset=utf-8']);
    expect(String(answer.body)).toMatch(/^<!doctype html>/);
    expect(readEvents(answer.body)).toEqual([]);
  },

  garbage_status: async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const [line = ''] = latin1(bytes).split('\r\n', 1);
    expect(line).toBe('SSH-2.0-wirefault');
    expectHealthy(at, Buffer.concat([Buffer.from('HTTP/1.1 200 OK'), bytes.subarray(line.length)]));
  },

  status_line_cut: async (at) => {
    const { bytes, end, ledger } = await at.seen();
    expect({ bytes: latin1(bytes), end }).toEqual({ bytes: 'HTTP/1.1 ', end: 'fin' });
    expect(ledger).toMatchObject({ outcome: 'closed', cut: { offset: 9, inside: 'status_line:1+9' } });
  },

  headers_cut: async (at) => {
    const { bytes, end, ledger } = await at.seen();
    expect(end).toBe('fin');
    const [line = '', ...lines] = latin1(bytes).split('\r\n');
    expect(line).toBe('HTTP/1.1 200 OK');
    expect(lines.join('\r\n')).toHaveLength(40);
    expect(latin1(bytes)).not.toContain('\r\n\r\n');
    expect(ledger).toMatchObject({ outcome: 'closed', cut: { inside: 'headers:1+40' } });
  },

  header_oversize: async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const { head } = parted(bytes);
    expect(head).toHaveLength(131_072);
    expect(head).toMatch(/\r\nx-padding: x+\r\n\r\n$/);
    expectHealthy(at, bytes);
  },

  header_nul: strangeHeader('\r\nx-fault: a\0b\r\n'),
  lone_cr: strangeHeader('\r\nx-fault: a\rb\r\n'),

  bare_lf: async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const { head, rest } = parted(bytes, '\n\n');
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\n([^\r\n]+\n)+\n$/);
    // The line ends of the framing are as they have to be.
    expectHealthy(at, Buffer.concat([Buffer.from(head.replaceAll('\n', '\r\n')), rest]));
  },

  informational_storm: async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const storm = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100);
    expect(latin1(bytes.subarray(0, storm.length))).toBe(storm);
    expectHealthy(at, bytes.subarray(storm.length));
  },

  length_over: strangeLength(
    ({ length }) => [String(length + 100)],
    ({ complete }) => expect(complete).toBe(false),
  ),
  length_under: strangeLength(
    ({ length }) => [String(length - 10)],
    ({ complete, rest }) => expect({ complete, rest: rest.length }).toEqual({ complete: true, rest: 10 }),
  ),
  length_duplicate: strangeLength(({ length }) => [String(length), '7']),
  length_negative: strangeLength(() => ['-1']),

  length_and_chunked: async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const answer = expectHealthy(at, bytes);
    expect(valuesOf(answer, 'transfer-encoding')).toEqual(['chunked']);
    expect(valuesOf(answer, 'content-length')).toEqual([String(answer.body.length)]);
  },

  chunk_bad_size: strangeSize('xyz'),
  chunk_size_overflow: strangeSize('ffffffffffffffffff'),
  chunk_cut_data: cutInChunk(/^[0-9a-f]+\r\n.{5}$/s),
  chunk_cut_size: cutInChunk(/^[0-9a-f]+$/),

  chunk_cut_crlf: async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const [, size = '', data = ''] = /^([0-9a-f]+)\r\n(.+)$/s.exec(latin1(parted(bytes).rest)) ?? [];
    expect(data).toHaveLength(Number.parseInt(size, 16));
    if (at.stream) expect(data).toMatch(/\n\n$/);
  },

  chunk_no_last: strangeEnd(''),
  chunk_no_final_crlf: strangeEnd('0\r\n'),

  chunk_misaligned: async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const { body, chunks } = expectHealthy(at, bytes);
    let offset = 0;
    const ends = chunks.map((size) => {
      offset += size;
      return offset;
    });
    expect(ends.length).toBeGreaterThan(1);
    if (!at.stream) return;
    // One for each event, in the middle of it, and the rest.
    expect(ends).toHaveLength(latin1(body).split('\n\n').length);
    for (const border of ends.slice(0, -1)) expect(latin1(body.subarray(0, border))).not.toMatch(/\n\n$/);
  },

  until_close_cut: async (at) => {
    const { bytes, end, ledger } = await at.seen({ headers: {} });
    expect(end).toBe('fin');
    const answer = answerIn(bytes);
    expect([...valuesOf(answer, 'content-length'), ...valuesOf(answer, 'transfer-encoding')]).toEqual([]);
    expect(headerOf(answer, 'connection')).toBe('close');
    expectCutBody(at, answer.body);
    expect(ledger.outcome).toBe('closed');
  },

  encoding_lie: async (at) => {
    const { bytes, end } = await at.seen();
    expect(end).toBe('fin');
    const answer = expectHealthy(at, bytes);
    expect(valuesOf(answer, 'content-encoding')).toEqual(['gzip']);
    expect(() => gunzipSync(answer.body)).toThrow('incorrect header check');
  },

  encoding_truncated: async (at) => {
    const { bytes, end } = await at.seen();
    const answer = answerIn(bytes);
    expect({ end, complete: answer.complete }).toEqual({ end: 'fin', complete: true });
    expect(valuesOf(answer, 'content-encoding')).toEqual(['gzip']);
    expect(() => gunzipSync(answer.body)).toThrow('unexpected end of file');
    const told = gunzipSync(answer.body, { finishFlush: constants.Z_SYNC_FLUSH });
    expect(told.length).toBeGreaterThan(0);
    if (at.stream) expect(latin1(told)).toMatch(/^(event: \S+\n)?data: \{/);
    else expect(isJson(String(told))).toBe(false);
  },

  keep_alive_stale: async (at) => {
    const server = await at.serve();
    const client = witness(server.port);
    client.send(at.request);
    const { length } = await client.until((bytes) => readAnswer(bytes)?.complete === true);
    expect(headerOf(expectHealthy(at, client.received), 'connection')).toBe('keep-alive');
    await server.results(1);
    client.send(at.request);
    expect(await client.ended).toBe('fin');
    expect(client.received.length).toBe(length);
    const event = await server.event(({ type }) => type === 'idle_fault');
    expect(event).toEqual({ type: 'idle_fault', connection: 1, did: 'fin', when: 'request' });
    // The second request was none: not on record, and not of the script.
    expect(server.requests).toHaveLength(1);
    expect(await server.ledger(1)).toMatchObject({ outcome: 'completed', bytes: { written: length } });
  },

  keep_alive_stray: async (at) => {
    const server = await at.serve();
    const client = witness(server.port);
    client.send(at.request);
    expect(await client.ended).toBe('fin');
    const { rest } = answerIn(client.received);
    expect(latin1(rest)).toBe('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    const answer = client.received.subarray(0, client.received.length - rest.length);
    expect(headerOf(expectHealthy(at, answer), 'connection')).toBe('keep-alive');
    expect(server.events.filter(({ type }) => type === 'idle_fault')).toEqual([
      { type: 'idle_fault', connection: 1, did: 'stray', when: 'idle' },
      { type: 'idle_fault', connection: 1, did: 'fin', when: 'idle' },
    ]);
    // What nobody asked for is of no exchange.
    expect(await server.ledger(1)).toMatchObject({ outcome: 'completed', bytes: { written: answer.length } });
  },

  close_said_kept_open: async (at) => {
    const seen = await at.seen({
      headers: {},
      open: async (client, server) => {
        await client.until((bytes) => readAnswer(bytes)?.complete === true);
        await somethingElse(server);
        expect(server.requests.map(({ outcome }) => outcome)).toEqual([undefined]);
      },
    });
    expect(headerOf(expectHealthy(at, seen.bytes), 'connection')).toBe('close');
    expect(seen.ledger).toMatchObject({ outcome: 'stalled', teardown: { kind: 'stall', first: 'client_fin' } });
  },

  early_response: async (at) => {
    const server = await at.serve({ maxBodyBytes: 2 ** 30 });
    const [head = ''] = post(PATHS[at.protocol], '', { 'Content-Length': String(64 * 2 ** 20) }).split(/(?<=\r\n\r\n)/);
    const client = witness(server.port);
    // Not a byte of the body is sent before the answer is there.
    client.send(head);
    const bytes = await client.until((all) => readAnswer(all)?.complete === true);
    const answer = answerIn(bytes);
    expect(answer.status).toBe(413);
    expect(headerOf(answer, 'connection')).toBe('close');
    expect(JSON.parse(String(answer.body))).toMatchObject({ error: { message: 'mock request too large' } });
    expect(await client.ended).toBe('fin');
    expect(await server.ledger(1)).toMatchObject({
      outcome: 'closed',
      request: { path: PATHS[at.protocol], bodyBytes: null, bodySha256: null },
      bytes: { written: bytes.length },
    });
  },

  expectation_failed: async (at) => {
    const server = await at.serve();
    const [head = ''] = post(PATHS[at.protocol], '{}', { Expect: '100-continue' }).split(/(?<=\r\n\r\n)/);
    const { bytes, end } = await witnessed(server.port, head);
    const answer = answerIn(bytes);
    expect({ end, status: answer.status, complete: answer.complete, rest: answer.rest.length }).toEqual({
      end: 'fin',
      status: 417,
      complete: true,
      rest: 0,
    });
    expect(await server.ledger(1)).toMatchObject({ outcome: 'closed', request: { bodyBytes: null } });
    // Others get a whole answer.
    expectHealthy(at, (await at.seen()).bytes);
  },
};

/** A machine that holds the test up for longer than a pause lets segments be read as one: these are tried again then. */
const TIMED: ReadonlySet<string> = new Set<InConnection>(['drip', 'throttle', 'stall_resume']);

describe.each(PROTOCOLS)('%s', (protocol) => {
  for (const [name, check] of Object.entries(TABLE)) {
    for (const stream of [true, false]) {
      it(`${name}, ${stream ? 'streamed' : 'as a JSON body'}`, { retry: TIMED.has(name) ? 5 : 0 }, async () => {
        await check({
          name: name as InConnection,
          protocol,
          stream,
          seen: (given) => exchanged(name, { protocol, stream, ...given }),
          serve: (options) => serve({ sequence: [name], disconnectDelayMs: 20, ...options }),
          request: requestOf({ protocol, stream, headers: {} }),
        });
      });
    }
  }
});

it('early_response: a client that goes on sending is reset, with its answer before that', async () => {
  const server = await serve({ sequence: ['early_response'], maxBodyBytes: 2 ** 30, disconnectDelayMs: 100 });
  const client = witness(server.port);
  client.send(post(PATHS['openai-chat'], Buffer.alloc(64 * 2 ** 20, 'x').toString('latin1')));
  const bytes = await client.until((all) => readAnswer(all)?.complete === true);
  expect(answerIn(bytes).status).toBe(413);
  expect(client.unsent).toBeGreaterThan(0);
  expect(await client.ended).toBe('rst');
});
