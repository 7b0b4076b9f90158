import { STATUS_CODES } from 'node:http';
import type { Header } from '../sse/dialect.js';
import { joinMarked, type Mark, type Marked } from '../sse/mark.js';
import type { FRAMINGS, FramingForm, HeadForm } from './forms.js';
import { cutAt, spread } from './pieces.js';

/**
 * Head and body framing as bytes with marks (RFC 9112). Pure: what is said here is sent, nothing is added.
 */
export type Framing = (typeof FRAMINGS)[number];

export interface Head {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly framing: Framing;
  /** Whether the connection is offered for another request. */
  readonly keepAlive: boolean;
  readonly form?: HeadForm | undefined;
}

/** How the body is framed beside what the head says of it. */
export interface BodyForm extends Omit<FramingForm, 'kind'> {
  /** Offsets in the body at which chunks end; the end of the body is always one. */
  readonly chunkEnds?: readonly number[];
}

const EOLS = { crlf: '\r\n', lf: '\n', cr: '\r' } as const;

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

function lengths({ contentLength }: BodyForm, bodyBytes: number): readonly string[] {
  if (contentLength === undefined) return [String(bodyBytes)];
  if ('add' in contentLength) return [String(bodyBytes + contentLength.add)];
  return contentLength.map((value) => value.replaceAll('{length}', String(bodyBytes)));
}

/** The framing headers, which stand behind the content type, where the providers have them. */
function framingHeaders(head: Head, body: BodyForm, bodyBytes: number): Header[] {
  const { connection = head.keepAlive ? 'keep-alive' : 'close' } = head.form ?? {};
  const codings = body.transferEncoding ?? (head.framing === 'chunked' ? ['chunked'] : []);
  // A 204 has no length (RFC 9110, section 8.6), unless the fault lies.
  const unlengthed = bodyBytes === 0 && (head.form?.status ?? head.status) === 204;
  const told = (head.framing === 'content_length' && !unlengthed) || body.contentLength !== undefined;
  return [
    ...codings.map((value): Header => ['Transfer-Encoding', value]),
    ...(told ? lengths(body, bodyBytes) : []).map((value): Header => ['Content-Length', value]),
    ...(connection === 'none' ? [] : ([['Connection', connection]] as const)),
  ];
}

/** The headers after the changes of the form: those that are set, without those that are removed, then those that are added. */
function formed(headers: readonly Header[], { set = [], add = [], remove = [] }: HeadForm): Header[] {
  const named = (name: string) => (other: string | readonly [string, ...unknown[]]) =>
    (typeof other === 'string' ? other : other[0]).toLowerCase() === name.toLowerCase();
  const left = headers
    .filter(([name]) => !remove.some(named(name)))
    .map((header): Header => set.find(named(header[0])) ?? header)
    .filter((header, at, all) => !set.includes(header) || all.indexOf(header) === at);
  return [...left, ...set.filter((header) => !left.includes(header)), ...add];
}

const PADDING = 'x-padding';

function headLines(head: Head, body: BodyForm, bodyBytes: number): { statusLine: string; lines: string; eol: string } {
  const { form = {} } = head;
  const eol = EOLS[form.eol ?? 'crlf'];
  const status = form.status ?? head.status;
  const reason = form.reason ?? STATUS_CODES[status] ?? '';
  const statusLine = `${form.statusLine ?? `HTTP/${form.version ?? '1.1'} ${status} ${reason}`}${eol}`;
  const at = head.headers.findIndex(([name]) => name.toLowerCase() === 'content-type') + 1;
  const framing = framingHeaders(head, body, bodyBytes);
  const headers = formed([...head.headers.slice(0, at), ...framing, ...head.headers.slice(at)], form);
  const lines = headers.map(([name, value]) => `${name}: ${value}${eol}`).join('');
  const missing = (form.padToBytes ?? 0) - statusLine.length - lines.length - eol.length;
  const pad =
    missing > 0 ? `${PADDING}: ${'x'.repeat(Math.max(0, missing - PADDING.length - 2 - eol.length))}${eol}` : '';
  return { statusLine, lines: `${lines}${pad}`, eol };
}

/** What comes before the final answer: stray bytes, interim answers. */
function preludeOf({ before = '', informational }: HeadForm): Marked {
  const { status = 100, times = 0, headers = [] } = informational ?? {};
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const interim = latin1(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}\r\n`);
  const marks = Array.from({ length: times }, (_, n): Mark => {
    const start = latin1(before).length + n * interim.length;
    return { kind: 'informational', index: 1, start, end: start + interim.length };
  });
  return { bytes: Buffer.concat([latin1(before), ...Array.from({ length: times }, () => interim)]), marks };
}

function encodeHead(head: Head, body: BodyForm, bodyBytes: number): Marked {
  if (head.form?.raw !== undefined) {
    const bytes = latin1(head.form.raw);
    const line = /^.*?(?:\r\n|\n|\r|$)/s.exec(head.form.raw)?.[0].length ?? 0;
    return { bytes, marks: headMarks(line, bytes.length) };
  }
  const { statusLine, lines, eol } = headLines(head, body, bodyBytes);
  const bytes = latin1(`${statusLine}${lines}${eol}`);
  return { bytes, marks: headMarks(statusLine.length, bytes.length) };
}

function headMarks(statusLine: number, end: number): Mark[] {
  return [
    { kind: 'status_line', index: 1, start: 0, end: statusLine },
    { kind: 'headers', index: 1, start: statusLine, end },
  ];
}

function chunk(piece: Marked, size: string): Marked {
  const line = latin1(`${size}\r\n`);
  const dataEnd = line.length + piece.bytes.length;
  const marks: Mark[] = [
    { kind: 'chunk', index: 1, start: 0, end: dataEnd + 2 },
    { kind: 'chunk_size', index: 1, start: 0, end: line.length },
    { kind: 'chunk_data', index: 1, start: line.length, end: dataEnd },
    ...piece.marks.map((mark) => ({ ...mark, start: mark.start + line.length, end: mark.end + line.length })),
  ];
  return { bytes: Buffer.concat([line, piece.bytes, latin1('\r\n')]), marks };
}

/** What ends a chunked body; nothing where the form has none. */
export function lastChunk({ last = 'whole', trailers = [], extension = '' }: BodyForm): Marked[] {
  if (last === 'none') return [];
  const fields = trailers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const bytes = latin1(`0${extension}\r\n${fields}${last === 'whole' ? '\r\n' : ''}`);
  return [{ bytes, marks: [{ kind: 'last_chunk', index: 1, start: 0, end: bytes.length }] }];
}

/**
 * The whole answer: head, then the body in the head's framing. Without `chunkEnds` each part is a chunk; empty ones make
 * none, which would end the body.
 */
export function frame(head: Head, parts: readonly Marked[], form: BodyForm = {}): Marked {
  const filled = parts.filter((part) => part.bytes.length > 0);
  const bodyBytes = filled.reduce((sum, part) => sum + part.bytes.length, 0);
  const start = [...(head.form ? [preludeOf(head.form)] : []), encodeHead(head, form, bodyBytes)];
  if (head.framing !== 'chunked') return joinMarked([...start, ...filled]);
  const body = joinMarked(filled);
  const pieces = form.chunkEnds
    ? cutAt(body.bytes, form.chunkEnds).map((bytes): Marked => ({ bytes, marks: [] }))
    : filled;
  const sizes = new Map(form.sizes?.map(({ chunk: number, size }) => [number, size]));
  const chunks = pieces.map((piece, n) => {
    const size = sizes.get(n + 1) ?? piece.bytes.length.toString(16);
    return chunk(piece, `${size}${form.extension ?? ''}`);
  });
  const answer = joinMarked([...start, ...chunks, ...lastChunk(form)]);
  if (!form.chunkEnds) return answer;
  const data = answer.marks.filter(({ kind }) => kind === 'chunk_data');
  // In the order of the wire, a mark before those inside it.
  const marks = [...answer.marks, ...spread(body, data)].toSorted((a, b) => a.start - b.start || b.end - a.end);
  return { ...answer, marks };
}
