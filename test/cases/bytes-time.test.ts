import { describe, expect, it, type TestContext } from 'vitest';
import { segmentOf } from '../../src/proof/packet.js';
import { readPackets } from '../../src/proof/pcap.js';
import { captured, tcpdumpInstalled } from '../support/tcpdump.js';
import { post, type Witness } from '../support/witness.js';
import { caseServer } from './support/case-server.js';
import { CHAT, caughtUp, connect, isOpen, isWhole, MESSAGES } from './support/played.js';
import { answerOf, chunksOf, notationOf, textIn } from './support/wire-notation.js';

/** Section C of the reported cases, time: what a raw client gets of each scenario. */
const HEAD = 'H(1.1 200 chunked keep-alive)';
const WHOLE_BODY = 'C(role) C(txt) C(txt) C(txt) C(fin) C([DONE])';
const WHOLE_MESSAGES = 'C(ms) C(cbs) C(ping) C(cbd) C(cbd) C(cbd) C(cbe) C(md) C(mstop)';

/** Thousands of timers and packets: seconds by itself, more on a busy machine. */
const LONGEST_MS = 60_000;

/** Plays a variant up to the wire that is wanted. */
async function upTo(id: string, variant: string, wire: string, request = CHAT): Promise<Witness> {
  const server = await caseServer(id, { sequence: [variant] });
  const client = connect(server);
  client.send(request);
  await client.until((received) => received.includes('\r\n\r\n') && notationOf(received) === wire);
  await caughtUp(server);
  return client;
}

describe.each([
  ['B22', 'silent', `${HEAD} C(role+2*txt)`, `${HEAD} C(ms+cbs+ping+2*cbd)`],
  ['B27', 'silent_after_terminal', `${HEAD} ${WHOLE_BODY}`, `${HEAD} ${WHOLE_MESSAGES}`],
])('%s %s', (id, variant, chat, messages) => {
  it.each([
    [chat, CHAT],
    [messages, MESSAGES],
  ])('%s, open and silent', async (wire, request) => {
    const client = await upTo(id, variant, wire, request);
    expect(await isOpen(client)).toBe(true);
    expect(notationOf(client.received)).toBe(wire);
  });
});

describe('B23', () => {
  it('silent_in_body: 20 bytes of 500, open and silent', async () => {
    const server = await caseServer('B23');
    const client = connect(server);
    client.send(post('/v1/chat/completions', { model: 'mock', messages: [] }));
    await client.until((received) => received.includes('\r\n\r\n') && answerOf(received).body.length === 20);
    await caughtUp(server);
    const { statusLine, headers, body } = answerOf(client.received);
    expect(statusLine).toBe('HTTP/1.1 200 OK');
    expect(headers.filter(([name]) => name !== 'x-request-id')).toEqual([
      ['content-type', 'application/json'],
      ['content-length', '500'],
      ['connection', 'keep-alive'],
    ]);
    expect(body.toString()).toBe('{\n  "id": "chatcmpl-');
    expect(body.length).toBe(20);
    expect(await isOpen(client)).toBe(true);
  });
});

describe('B24', () => {
  it('long_pause: half of the text, 301 s scaled to one, the rest', async () => {
    const client = connect(await caseServer('B24', { timeScale: 301 }));
    const startMs = performance.now();
    client.send(CHAT);
    const half = await client.until((received) => textIn(received.toString()) === 'mock response re');
    expect(notationOf(half)).toBe(`${HEAD} C(role) C(txt) C(txt)`);
    const whole = await client.until((received) => received.length > half.length);
    // From the start, as whatever is read late doesn't count there; a timer may be early by a millisecond.
    expect(performance.now() - startMs).toBeGreaterThan(1000 - 5);
    expect(notationOf(whole)).toBe(`${HEAD} ${WHOLE_BODY} T`);
    expect(await isOpen(client)).toBe(true);
  });
});

describe('keep-alives for ever', () => {
  it.each([
    ['B25', 'ping_events', 'C(ms)', 'C(ping)', 'event: ping\ndata: {"type":"ping"}\n\n'],
    ['B25', 'comments', 'C(ms)', 'C(: x)', ': x\n\n'],
    ['B25', 'empty_data', 'C(ms)', 'C(data:)', 'data:\n\n'],
    ['B25', 'ids', 'C(ms)', 'C(id: 7)', 'id: 7\n\n'],
    ['B25', 'retries', 'C(ms)', 'C(retry: 3000)', 'retry: 3000\n\n'],
    ['B27', 'keepalives_after_terminal', WHOLE_MESSAGES, 'C(: keep-alive)', ': keep-alive\n\n'],
  ])('%s %s', async (id, variant, start, again, bytes) => {
    const client = connect(await caseServer(id, { sequence: [variant] }));
    const startMs = performance.now();
    client.send(MESSAGES);
    const chunk = `${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n`;
    // The last event itself, and eight more.
    const received = await client.until((all) => all.toString().split(chunk).length > 9);
    expect(performance.now() - startMs).toBeGreaterThan(8 * 15 - 5);
    const count = received.toString().split(chunk).length - 1;
    expect(notationOf(received)).toBe([HEAD, start, ...Array.from({ length: count }, () => again)].join(' '));
    expect(received.toString().endsWith(chunk.repeat(count))).toBe(true);
    expect(await isOpen(client)).toBe(true);
  });
});

describe('B28', () => {
  /** The payloads of the server's segments, as they were on the wire, while `act` asks it. */
  async function segmentsOf(ctx: TestContext, port: number, act: () => Promise<unknown>): Promise<Buffer[]> {
    const file = await captured({ port, host: '127.0.0.1', ctx }, act);
    return (
      readPackets(file, 'capture')
        .flatMap((packet) => segmentOf(packet) ?? [])
        .filter(({ source, payloadBytes }) => source.port === port && payloadBytes > 0)
        // A probe for a late acknowledgment sends the last one again (RFC 8985, section 7).
        .filter(({ sequence }, n, all) => all.findIndex((other) => other.sequence === sequence) === n)
        .map(({ payload }) => payload)
    );
  }

  /** Which part of the segments has so many bytes: those that a late timer sends at once are joined by the kernel. */
  function share(segments: readonly Buffer[], bytes: number): number {
    return segments.filter(({ length }) => length === bytes).length / segments.length;
  }

  const noCapture = tcpdumpInstalled ? '' : ' (skipped: tcpdump is not installed)';

  it.skipIf(!tcpdumpInstalled)(
    `kib_segments: a million characters in one chunk, 1 KiB in each segment${noCapture}`,
    async (ctx) => {
      const server = await caseServer('B28', { sequence: ['kib_segments'] });
      const client = connect(server);
      const segments = await segmentsOf(ctx, server.port, async () => {
        client.send(CHAT);
        await client.until(isWhole);
      });
      const chunks = chunksOf(answerOf(client.received).body);
      expect(chunks.every(({ whole }) => whole)).toBe(true);
      expect(textIn(String(chunks[1]?.data)).length).toBe(1_000_000);
      expect(Buffer.concat(segments)).toEqual(client.received);
      expect(share(segments, 1024)).toBeGreaterThan(0.9);
    },
    LONGEST_MS,
  );

  it.skipIf(!tcpdumpInstalled)(`byte_segments: one byte in each segment, scaled down${noCapture}`, async (ctx) => {
    const edit = (text: string): string => text.replace('commentBytes: 16384', 'commentBytes: 2048');
    const server = await caseServer('B28', { sequence: ['byte_segments'], edit });
    const client = connect(server);
    const segments = await segmentsOf(ctx, server.port, async () => {
      client.send(CHAT);
      await client.until(isWhole);
    });
    expect(notationOf(client.received)).toBe(`${HEAD} C(role) C(comment[2052]) C(txt) C(fin) C([DONE]) T`);
    expect(Buffer.concat(segments)).toEqual(client.received);
    expect(share(segments, 1)).toBeGreaterThan(0.9);
  });

  it('byte_segments: 16 KiB in the file itself', async () => {
    const client = connect(await caseServer('B28', { sequence: ['byte_segments'], timeScale: 20 }));
    client.send(CHAT);
    const wire = `${HEAD} C(role) C(comment[16388]) C(txt) C(fin) C([DONE]) T`;
    expect(notationOf(await client.until(isWhole))).toBe(wire);
  });

  it('burst: 16,384 deltas in one chunk', async () => {
    const client = connect(await caseServer('B28', { sequence: ['burst'] }));
    client.send(CHAT);
    const received = await client.until(isWhole);
    expect(notationOf(received)).toBe(`${HEAD} C(role+16384*txt+fin+[DONE]) T`);
  });
});
