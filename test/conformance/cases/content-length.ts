import type { FaultSpec } from '../../../src/fault/spec.js';
import { type Expected, literal, type MessageCase } from '../support/message-case.js';

/** web-platform-tests, fetch/content-length/: what a client makes of what Content-Length says. */

const DIR = 'fetch/content-length';

/** 42 bytes; how many there are is all that matters of them. */
const BODY = '0123456789'.repeat(5).slice(0, 42);

/** The standards differ where what is said is no number: Fetch takes it for no length, HTTP for an error. */
const STRICT = 'RFC 9112, section 6.3: an error that nothing can be made of';

type Row = readonly [id: string, lines: readonly string[], length: 30 | 42 | 'network error', contested?: string];

const ROWS: readonly Row[] = [
  ['one_42', ['Content-Length: 42'], 42],
  ['list_42_42', ['Content-Length: 42,42'], 42],
  ['lines_42_42', ['Content-Length: 42', 'Content-Length: 42'], 42],
  ['line_42_and_list_42_42', ['Content-Length: 42', 'Content-Length: 42,42'], 42],
  ['one_30', ['Content-Length: 30'], 30],
  ['list_30_30', ['Content-Length: 30,30'], 30],
  ['lines_30_30', ['Content-Length: 30', 'Content-Length: 30'], 30],
  ['line_30_and_list_30_30', ['Content-Length: 30', 'Content-Length: 30,30'], 30],
  ['two_lists_30_30', ['Content-Length: 30,30', 'Content-Length: 30,30'], 30],
  ['list_of_three_with_spaces_and_line', ['Content-Length: 30,30,  30  ', 'Content-Length: 30  '], 30],
  ['list_30_42_and_line_30', ['Content-Length: 30,42', 'Content-Length: 30'], 'network error'],
  ['two_lists_30_42', ['Content-Length: 30,42', 'Content-Length: 30,42'], 'network error'],
  ['list_42_30', ['Content-Length: 42,30'], 'network error'],
  ['list_30_42', ['Content-Length: 30,42'], 'network error'],
  ['lines_42_30', ['Content-Length: 42', 'Content-Length: 30'], 'network error'],
  ['lines_30_42', ['Content-Length: 30', 'Content-Length: 42'], 'network error'],
  ['list_trailing_comma', ['Content-Length: 30,'], 'network error'],
  ['list_leading_comma', ['Content-Length: ,30'], 'network error'],
  ['line_30_and_blank_line_value', ['Content-Length: 30', 'Content-Length: \t'], 'network error'],
  ['empty_value_and_line_30', ['Content-Length: ', 'Content-Length: 30'], 'network error'],
  ['lines_of_unlike_words', ['Content-Length: aaaah', 'Content-Length: nah'], 'network error'],
  ['list_of_unlike_words', ['Content-Length: aaaah, nah'], 'network error'],
  ['lines_of_same_word', ['Content-Length: aaaah', 'Content-Length: aaaah'], 42, STRICT],
  ['list_of_same_word', ['Content-Length: aaaah, aaaah'], 42, STRICT],
  ['one_word', ['Content-Length: aaaah'], 42, STRICT],
  ['digits_then_letter_42s', ['Content-Length: 42s'], 42, STRICT],
  ['digits_then_letter_30s', ['Content-Length: 30s'], 42, STRICT],
  ['negative', ['Content-Length: -1'], 42, STRICT],
  ['hex', ['Content-Length: 0x20'], 42, STRICT],
  ['leading_zero_030', ['Content-Length: 030'], 30],
  ['lines_030_30', ['Content-Length: 030', 'Content-Length: 30'], 'network error'],
  ['list_030_30', ['Content-Length: 030, 30'], 'network error'],
  ['quoted_30', ['Content-Length: "30"'], 42, STRICT],
  ['lines_30_comma_30_no_space', ['Content-Length:30', 'Content-Length:,', 'Content-Length:30'], 'network error'],
  ['empty_value', ['Content-Length: '], 42, STRICT],
];

/** The rows that undici refuses although they are expected to be read: all but a single number. */
const REFUSED: readonly string[] = ROWS.flatMap(([id, lines, length]) => {
  const single = lines.length === 1 && /^Content-Length: \d+$/.test(lines[0] ?? '');
  return length === 'network error' || single ? [] : [id];
});

const START = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain;charset=UTF-8\r\nConnection: close\r\n';

/** Lines of one's own behind those of a server that ends its body by closing. */
function faultOf(lines: readonly string[], bytes: string): FaultSpec {
  const fields = lines.map((line) => /^([^:]+): (.*)$/s.exec(line));
  // Only a raw head has no space behind a colon.
  if (fields.includes(null)) return literal(bytes);
  return {
    answer: { kind: 'http', status: 200, contentType: 'text/plain;charset=UTF-8', body: BODY },
    framing: { kind: 'until_close' },
    head: { connection: 'close', add: fields.map((field): [string, string] => [field?.[1] ?? '', field?.[2] ?? '']) },
  };
}

const read = (body: string): Expected => ({ status: 200, body });

const PARSING: readonly MessageCase[] = ROWS.map(([id, lines, length, contested]) => {
  const bytes = `${START}${lines.join('\r\n')}\r\n\r\n${BODY}`;
  return {
    id,
    source: `${DIR}/parsing.window.js`,
    bytes,
    fault: faultOf(lines, bytes),
    expected: length === 'network error' ? length : read(BODY.slice(0, length)),
    ...(contested === undefined ? {} : { contested }),
    ...(REFUSED.includes(id) ? { undici: 'network error' } : {}),
  };
});

const TWICE = {
  bytes:
    'HTTP/1.1 200 BLAH\nTest: x\nTest: x\nContent-Type: text/plain\nContent-Type: text/plain\n' +
    'Content-Length: 6\nContent-Length: 6\n\nTest.\n',
  source: `${DIR}/api-and-duplicate-headers.any.js`,
  fault: {
    answer: {
      kind: 'http',
      status: 200,
      headers: ['Test: x', 'Content-Type: text/plain', 'Content-Length: 6'].flatMap((line) => {
        const [name = '', value = ''] = line.split(': ');
        return [[name, value] as const, [name, value] as const];
      }),
      body: 'Test.\n',
    },
    framing: { kind: 'until_close' },
    head: { reason: 'BLAH', eol: 'lf', connection: 'none' },
  },
  expected: {
    status: 200,
    statusText: 'BLAH',
    headers: { test: 'x, x', 'content-type': 'text/plain, text/plain', 'content-length': '6, 6' },
    body: 'Test.\n',
  },
  undici: 'network error',
} as const satisfies Omit<MessageCase, 'id'>;

/** The page of the suite has as many bytes, of which its head says fewer. */
const PAGE_BYTES = 436;
const SAID_BYTES = 403;
const PAGE = `<!doctype html><title>PASS</title><p>${'.'.repeat(PAGE_BYTES)}`;
const TRAILING = '\nbut not this, which is behind it';
const KEPT = `${PAGE.slice(0, SAID_BYTES - 4)}PASS`;

const OTHERS: readonly MessageCase[] = [
  {
    id: 'length_beyond_body',
    source: `${DIR}/too-long.window.js`,
    bytes: `${START}Content-Length: 50\r\n\r\n${BODY}`,
    fault: {
      answer: { kind: 'http', status: 200, contentType: 'text/plain;charset=UTF-8', body: BODY },
      framing: { kind: 'until_close' },
      head: { connection: 'close', add: [['Content-Length', '50']] },
    },
    expected: { status: 200, broken: true },
  },
  { ...TWICE, id: 'same_headers_twice_fetch' },
  { ...TWICE, id: 'same_headers_twice_xhr', note: 'the same through XMLHttpRequest' },
  {
    id: 'body_beyond_length',
    source: `${DIR}/content-length.html`,
    bytes: `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${SAID_BYTES}\r\nConnection: close\r\n\r\n${KEPT}${TRAILING}`,
    fault: {
      answer: { kind: 'http', status: 200, contentType: 'text/html', body: `${KEPT}${TRAILING}` },
      framing: { kind: 'content_length', contentLength: { add: SAID_BYTES - PAGE_BYTES } },
      head: { connection: 'close' },
    },
    expected: read(KEPT),
  },
];

export const CONTENT_LENGTHS: readonly MessageCase[] = PARSING;
export const CONTENT_LENGTH_OTHERS: readonly MessageCase[] = OTHERS;
