import { describe, expect, it } from 'vitest';
import { brokenEnd, connectEnd } from '../../src/load/ends.js';
import { loadFailures, loadFailWordsOf } from '../../src/load/fail-words.js';
import { LOAD_VERSION, type LoadReport, loadBook } from '../../src/load/load-report.js';
import { loadText, progressText } from '../../src/load/load-text.js';
import { askedBody, askedHeaders, askedUrl } from '../../src/load/request.js';
import { plain } from '../../src/proof/paint.js';
import { PROTOCOLS } from '../../src/sse/dialect.js';
import { DIALECT_OF } from '../../src/sse/dialects.js';

describe('the request', () => {
  it.each([
    ['http://h:1', 'http://h:1/v1/chat/completions'],
    ['http://h:1/', 'http://h:1/v1/chat/completions'],
    ['http://h:1/v1', 'http://h:1/v1/chat/completions'],
    ['http://h:1/fault/stall/v1/?lane=a', 'http://h:1/fault/stall/v1/chat/completions?lane=a'],
    ['http://h:1/v1/chat/completions', 'http://h:1/v1/chat/completions'],
    ['https://h/openai/deployments/x', 'https://h/openai/deployments/x'],
  ])('%s asks %s', (given, asked) => {
    expect(askedUrl(new URL(given), 'openai-chat').href).toBe(asked);
  });

  it.each(PROTOCOLS)('%s: a body that the protocol reads as meant', (protocol) => {
    const body = askedBody({ protocol, stream: true, model: 'm', prompt: 'p' });
    expect(DIALECT_OF[protocol].readRequest(JSON.parse(body.toString()))).toMatchObject({ stream: true, model: 'm' });
  });

  it('has the key in the header of its protocol, and given headers in the place of its own', () => {
    expect(askedHeaders('anthropic-messages', 'k', [])).toContainEqual(['x-api-key', 'k']);
    const headers = askedHeaders('openai-chat', 'k', [['User-Agent', 'me']]);
    expect(headers).toContainEqual(['authorization', 'Bearer k']);
    expect(headers.filter(([name]) => name.toLowerCase() === 'user-agent')).toEqual([['User-Agent', 'me']]);
  });
});

const coded = (code: string): Error => Object.assign(new Error(code), { code });
const open = { ended: false, errno: undefined };

describe('a broken end', () => {
  it.each([
    ['a reset', coded('ECONNRESET'), { ended: false, errno: 'ECONNRESET' }, 'reset'],
    [
      'a reset that undici calls a cut answer',
      coded('HPE_INVALID_EOF_STATE'),
      { ...open, errno: 'ECONNRESET' },
      'reset',
    ],
    ['a FIN', coded('UND_ERR_SOCKET'), { ...open, ended: true }, 'closed'],
    ['a FIN in a chunk', coded('HPE_INVALID_EOF_STATE'), { ...open, ended: true }, 'closed'],
    ['a FIN before the length', coded('UND_ERR_RES_CONTENT_LENGTH_MISMATCH'), { ...open, ended: true }, 'closed'],
    ['no HTTP', coded('HPE_INVALID_CONSTANT'), open, 'malformed'],
    ['no HTTP, and a FIN', coded('HPE_INVALID_CONSTANT'), { ...open, ended: true }, 'malformed'],
    ['a head that is too long', coded('UND_ERR_HEADERS_OVERFLOW'), open, 'malformed'],
    ['silence', coded('WIREFAULT_TIMEOUT'), open, 'timeout'],
    ['silence of the network', coded('ETIMEDOUT'), { ...open, errno: 'ETIMEDOUT' }, 'timeout'],
  ])('%s', (_, error, socket, kind) => {
    expect(brokenEnd(error, socket)).toBe(kind);
  });

  it.each([
    ['ECONNREFUSED', 'refused'],
    ['WIREFAULT_TIMEOUT', 'timeout'],
    ['ENOTFOUND', 'connect_failed'],
  ])('%s before there is a connection', (code, kind) => {
    expect(connectEnd(coded(code))).toBe(kind);
  });
});

function reported(kinds: readonly LoadReport['ends'][number]['kind'][]): LoadReport {
  const book = loadBook();
  for (const kind of kinds) {
    book.start();
    book.tally.event(undefined);
    const told = { terminal: kind === 'complete' || kind === 'reset', retryAfter: kind === 'http_429' };
    const times = { headMs: 1, firstEventMs: 2, firstContentMs: 250, totalMs: 1234 };
    book.end({ kind, ...told, ...times, error: kind === 'reset' ? 'read\u001b ECONNRESET' : undefined });
  }
  return {
    version: LOAD_VERSION,
    url: 'http://127.0.0.1:8000/v1/chat/completions',
    protocol: 'openai-chat',
    stream: true,
    concurrency: 4,
    readBytesPerSecond: null,
    timeoutMs: 1,
    startedAt: '2026-01-01T00:00:00.000Z',
    elapsedMs: 2000,
    stoppedBy: null,
    connections: 4,
    ...book.measured,
    perSecond: { requests: 2, events: 2, bodyBytes: 0 },
    busy: 0.95,
  };
}

describe('what fails a run', () => {
  const report = reported(['complete', 'http_503', 'http_429', 'http_429', 'reset', 'stopped']);

  it.each([
    ['incomplete', undefined, ['--fail-on incomplete: 4 of 6']],
    ['complete', undefined, ['--fail-on complete: 1 of 6']],
    ['http_5xx,http_429,closed', undefined, ['--fail-on http_5xx: 1 of 6', '--fail-on http_429: 2 of 6']],
    ['reset', 3, ['--fail-on reset: 1 of 6', '--max-errors 3: 4 were not complete']],
    [undefined, 4, []],
  ])('%s, at most %s', (words, maxErrors, lines) => {
    expect(loadFailures(report, loadFailWordsOf(words), maxErrors)).toEqual(lines);
  });

  it('is named rightly', () => {
    expect(() => loadFailWordsOf('incomplet')).toThrow(/--fail-on: unknown end "incomplet", did you mean "incomplete"/);
    expect(() => loadFailWordsOf('http_50')).toThrow(/unknown end "http_50"/);
  });
});

describe('the text', () => {
  it('has the ends, the most frequent first, and the times', () => {
    const lines = loadText(reported(['complete', 'reset', 'http_429', 'reset']), plain).split('\n');
    expect(lines.slice(0, 8)).toEqual([
      'http://127.0.0.1:8000/v1/chat/completions, openai-chat, 4 at a time',
      '4 of 4 requests ended in 2.00 s, on 4 connections',
      'a second: 2 requests, 2 events, 0 bytes of bodies',
      '',
      'ends, as the client saw them',
      '  reset     2   50.0 %  the connection failed within the answer (2 behind the terminal); the first: read\\x1b ECONNRESET',
      '  complete  1   25.0 %  the terminal came, and the body ended (without a stream: the JSON was whole)',
      '  http_429  1   25.0 %  status 429',
    ]);
    expect(lines.slice(9)).toEqual([
      'milliseconds          count    min   mean   50 %   90 %   99 %  99.9 %    max',
      'to the head               4   1.00   1.00   1.00   1.00   1.00    1.00   1.00',
      'to the first event        4   2.00   2.00   2.00   2.00   2.00    2.00   2.00',
      'to the first content      4    250    250    250    250    250     250    250',
      'to the end, complete      1  1,234  1,234  1,234  1,234  1,234   1,234  1,234',
      '',
      '1 answer had a Retry-After, which was not followed',
      'this process was at work 95 % of the time: it may be the limit, not the server',
      '',
    ]);
  });

  it('has no times where there are none', () => {
    const { ms, ...rest } = reported(['refused']);
    const none = { head: null, firstEvent: null, firstContent: null, gap: null, whole: null };
    expect(loadText({ ...rest, ms: none, busy: 0 }, plain)).toMatch(/refused {2}1 .*\n$/);
    expect(Object.keys(ms)).toEqual(Object.keys(none));
  });

  it('tells how it goes on', () => {
    expect(progressText({ started: 40, ended: 8, failed: 2, events: 300, elapsedMs: 500 })).toBe(
      '32 open, 2 failed, 600 events/s',
    );
  });
});
