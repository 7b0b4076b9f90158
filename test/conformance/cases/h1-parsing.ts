import { type Expected, literal, type MessageCase } from '../support/message-case.js';

/** web-platform-tests, fetch/h1-parsing/: status codes, CRs, NULs, heads that are cut off. The server closes after the bytes. */

const DIR = 'fetch/h1-parsing';

interface Row {
  readonly id: string;
  readonly bytes: string;
  readonly expected?: Expected;
  readonly undici?: string;
  readonly contested?: string;
  readonly note?: string;
}

function rows(file: string, all: readonly Row[]): MessageCase[] {
  return all.map(({ expected = 'network error', ...row }) => ({
    ...row,
    source: `${DIR}/${file}`,
    fault: literal(row.bytes),
    expected,
  }));
}

const SAD = { 'header-parsing': 'is sad' };
const THREE_DIGITS = 'RFC 9112, section 4 wants three digits';

/** No blank line ends these heads: the end of the connection does. */
const status = (id: string, rest: string, accepted?: readonly [number, string], contested?: string): Row => ({
  id: `status_${id}`,
  bytes: `HTTP/1.1 ${rest}\nheader-parsing: is sad\n`,
  ...(accepted
    ? { expected: { status: accepted[0], statusText: accepted[1], headers: SAD }, undici: 'network error' }
    : {}),
  ...(contested === undefined ? {} : { contested }),
});

const STATUSES: readonly Row[] = [
  status('empty', ''),
  status('not_a_number', 'BLAH'),
  status('zero', '0 OK', [0, 'OK'], THREE_DIGITS),
  status('one', '1 OK', [1, 'OK'], THREE_DIGITS),
  status('two_digits', '99 NOT OK', [99, 'NOT OK'], THREE_DIGITS),
  status('leading_zero_77', '077 77', [77, '77']),
  status('leading_zero_99', '099 HELLO', [99, 'HELLO']),
  status('no_reason_no_space', '200', [200, ''], 'RFC 9112, section 4 wants a space behind the code'),
  status('nine_nine_nine', '999 DOES IT MATTER', [999, 'DOES IT MATTER']),
  status('four_digits', '1000 BOO'),
  status('four_digits_leading_zero', '0200 BOO'),
  status('wraps_16_bit', '65736 NOT 200 OR SOME SUCH'),
  status('wraps_17_bit', '131072 HI'),
  status('negative', '-200 TEST'),
  status('hex_0x', '0xA'),
  status('hex_c8', 'C8'),
];

const LONE_CRS: readonly Row[] = [
  { id: 'lone_cr_after_version', bytes: 'HTTP/1.1\r200 OK\n\nBODY' },
  { id: 'lone_cr_after_code', bytes: 'HTTP/1.1 200\rOK\n\nBODY' },
  { id: 'lone_cr_before_first_header', bytes: 'HTTP/1.1 200 OK\n\rHeader: Value\n\nBODY' },
  { id: 'lone_cr_before_colon', bytes: 'HTTP/1.1 200 OK\nHeader\r: Value\n\nBODY' },
  { id: 'lone_cr_after_colon', bytes: 'HTTP/1.1 200 OK\nHeader:\r Value\n\nBODY' },
  {
    id: 'lone_cr_crlf_then_bare_lf',
    bytes: 'HTTP/1.1 200 OK\nHeader: Value\r\n\nBody',
    contested: 'no CR in it stands alone; Servo, WebKit and Chromium fail it',
  },
  { id: 'lone_cr_cr_before_crlf', bytes: 'HTTP/1.1 200 OK\nHeader: Value\r\r\nBODY' },
  { id: 'lone_cr_between_two_headers', bytes: 'HTTP/1.1 200 OK\nHeader: Value\rHeader2: Value2\n\nBODY' },
  { id: 'lone_cr_as_blank_line_before_body', bytes: 'HTTP/1.1 200 OK\nHeader: Value\n\rBODY' },
  { id: 'lone_cr_as_blank_line_at_end', bytes: 'HTTP/1.1 200 OK\nHeader: Value\n\r' },
];

/** A PNG of one blue pixel; the suite has a larger one. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADBwIAMCbHYQAAAABJRU5ErkJggg==',
  'base64',
).toString('latin1');

/** The lines that the suite's server adds. */
const ADDED = (length: number): string =>
  `Server: a server\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: ${length}\r\n\r\n`;
const SCRIPT = 'var thisIsJavaScript = 0';
const DOCUMENT = '<!doctype html><title>A document</title>';

const NULS: readonly Row[] = [
  {
    id: 'nul_header_script',
    bytes: `HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\nCustom: \0\r\n${ADDED(SCRIPT.length)}${SCRIPT}`,
  },
  {
    id: 'nul_header_document',
    bytes: `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCustom: \0\r\n${ADDED(DOCUMENT.length)}${DOCUMENT}`,
  },
  { id: 'nul_header_image', bytes: `HTTP/1.1 200 AN IMAGE\r\nContent-Type: image/png\r\nCustom: \0\r\n\r\n${PIXEL}` },
];

const CUT_OFF: readonly Row[] = [
  ['tab', '\t'],
  ['space', ' '],
  ['form_feed', '\f'],
  ['cr', '\r'],
].map(([name, last]) => ({ id: `cut_after_${name}`, bytes: `HTTP/1.1 200 OKAYISH\nheader: value${last}` }));

export const H1_STATUSES: readonly MessageCase[] = rows('status-code.window.js', STATUSES);
export const H1_LONE_CRS: readonly MessageCase[] = rows('lone-cr.window.js', LONE_CRS);
export const H1_NULS: readonly MessageCase[] = rows('resources-with-0x00-in-header.window.js', NULS);
export const H1_CUT_OFF: readonly MessageCase[] = rows('incomplete-response.window.js', CUT_OFF);
