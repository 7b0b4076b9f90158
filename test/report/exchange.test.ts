import { createParser } from 'eventsource-parser';
import { describe, expect, it } from 'vitest';
import { byteLine } from '../../src/report/byte-line.js';
import { reportedExchange } from '../../src/report/exchange.js';
import { textOf } from '../../src/report/html.js';
import { ledgerWith, NULLS, RESET_WITH_LOSS, STALE } from '../proof/ledgers.js';
import { ANSWER, broken, exchange, HALF } from './samples.js';

describe('an exchange with its bytes', () => {
  it('has its status, and its events where they are', () => {
    const { status, headEnd = 0, events, moreEvents } = reportedExchange(exchange(), ANSWER.bytes);
    expect(status).toBe(200);
    expect(ANSWER.bytes.subarray(headEnd - 4, headEnd).toString()).toBe('\r\n\r\n');
    // Read by somebody else: each stretch is one event, and all events are there.
    const read: string[] = [];
    const parser = createParser({ onEvent: ({ data }) => read.push(data) });
    for (const { start, end } of events) parser.feed(ANSWER.bytes.subarray(start, end).toString());
    expect(read).toHaveLength(events.length);
    expect(read.at(-1)).toBe('[DONE]');
    expect(events.at(-1)).toMatchObject({ name: '[DONE]', role: 'terminal' });
    expect(moreEvents).toBe(0);
  });

  it('has only whole events of what was cut', () => {
    const { events } = reportedExchange(broken(), ANSWER.bytes.subarray(0, HALF));
    expect(events.length).toBeGreaterThan(1);
    expect(events.every(({ end }) => end <= HALF)).toBe(true);
  });

  it('counts events that are too many to be drawn', () => {
    const event = 'data: {"choices":[]}\n\n';
    const body = event.repeat(450);
    const head = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n`;
    const { events, moreEvents } = reportedExchange(exchange(), Buffer.from(head + body));
    expect([events.length, moreEvents]).toEqual([300, 150]);
  });

  it('knows what an answer tells to wait', () => {
    const bytes = Buffer.from('HTTP/1.1 429 Too Many Requests\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n');
    expect(reportedExchange(exchange(), bytes)).toMatchObject({ status: 429, toldToWaitMs: 2000, events: [] });
  });

  it('does without bytes', () => {
    expect(reportedExchange(exchange(), undefined)).toMatchObject({
      status: undefined,
      headEnd: undefined,
      events: [],
    });
  });
});

describe('the byte line', () => {
  const drawn = (...given: Parameters<typeof reportedExchange>): string => textOf(byteLine(reportedExchange(...given)));

  it('shows the cut, and says all of it in words', () => {
    const svg = drawn(broken(), ANSWER.bytes.subarray(0, HALF));
    const bytes = ANSWER.bytes.length.toLocaleString('en-US');
    const half = HALF.toLocaleString('en-US');
    expect(svg).toContain(
      `aria-label="exchange 1: ${bytes} bytes planned, ${half} written, ${half} read; cut at half, byte ${half}, event:3+17"`,
    );
    expect(svg).toContain(`>cut at half, byte ${half}</text>`);
    expect(svg).toContain('class="r-delta');
  });

  it.each([
    ['lost bytes', RESET_WITH_LOSS],
    ['stale counts', STALE],
    ['unknown counts', NULLS],
    [
      'nothing',
      ledgerWith({ plan: { ...ledgerWith().plan, bytes: 0 }, bytes: { written: 0, flushed: 0, acked: 0, read: 0 } }),
    ],
    ['more than the plan', ledgerWith({ bytes: { written: 9000, flushed: 9000, acked: 9000, read: 9000 } })],
  ])('has numbers that are numbers: %s', (_, ledger) => {
    const svg = drawn(ledger, undefined);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    for (const [, x = '', width = '0'] of svg.matchAll(/<rect x="([^"]+)"[^>]* width="([^"]+)"/g)) {
      expect(Number(x) + Number(width)).toBeLessThanOrEqual(901);
    }
  });

  it('says where a count can be too low', () => {
    expect(drawn(STALE, undefined)).toContain('≥0 read');
  });
});
