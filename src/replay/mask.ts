import { SECRET_HEADERS, SECRET_PARAMETER } from '../http/secret-headers.js';

/**
 * Keys out of raw messages, each byte of them an asterisk: the length stays, and with it every offset, mark and segment.
 */
interface Masked {
  readonly bytes: Buffer;
  /** What was masked, for people: `request header authorization`. */
  readonly what: readonly string[];
}

/** A session's cookies are keys, too. */
const SECRET_ANSWER_HEADERS: ReadonlySet<string> = new Set([...SECRET_HEADERS, 'set-cookie']);

/** Shorter values stand in texts by chance. */
const MIN_SECRET_LENGTH = 8;

const ASTERISK = 0x2a;

/** A value that is to be hidden: a range of the bytes, and what it is. */
interface Range {
  readonly what: string;
  readonly start: number;
  readonly end: number;
}

/** The request and the answer without the keys of either; what one of them tells of the other's is hidden as well. */
export function maskedExchange(
  request: Buffer,
  answer: Buffer,
  more: readonly string[] = [],
): { readonly request: Buffer; readonly answer: Buffer; readonly what: readonly string[] } {
  const inRequest = [...secretHeaders(request, 'request', SECRET_HEADERS), ...secretQuery(request)];
  const inAnswer = secretHeaders(answer, 'answer', SECRET_ANSWER_HEADERS);
  const secrets = new Set([...valuesIn(request, inRequest), ...valuesIn(answer, inAnswer), ...more]);
  const masked = [hidden(request, inRequest, secrets, 'request'), hidden(answer, inAnswer, secrets, 'answer')] as const;
  return { request: masked[0].bytes, answer: masked[1].bytes, what: [...masked[0].what, ...masked[1].what] };
}

/** The offset behind the last header; interim answers before the final one have heads of their own. */
function headsEnd(bytes: Buffer): number {
  let end = 0;
  while (bytes[end] === 0x0d || bytes[end] === 0x0a) end++;
  do {
    const ends = ['\r\n\r\n', '\n\n', '\n\r\n'].flatMap((text) => {
      const at = bytes.indexOf(text, end, 'latin1');
      return at < 0 ? [] : [at + text.length];
    });
    if (ends.length === 0) return bytes.length;
    end = Math.min(...ends);
  } while (/^HTTP\/1\.\d/.test(bytes.toString('latin1', end, end + 8)));
  return end;
}

const HEADER_LINE = /^([^\s:]+):([ \t]*)([^\r\n]*)/gm;
/** The scheme before a key tells how a client authenticates, and is no secret. */
const SCHEME = /^[A-Za-z]+ +(?=\S)/;

function secretHeaders(bytes: Buffer, of: string, names: ReadonlySet<string>): Range[] {
  const head = bytes.toString('latin1', 0, headsEnd(bytes));
  return Array.from(head.matchAll(HEADER_LINE)).flatMap((line): Range[] => {
    const [, name = '', space = '', value = ''] = line;
    if (!names.has(name.toLowerCase()) || value === '') return [];
    const scheme = /authorization$/i.test(name) ? (SCHEME.exec(value)?.[0].length ?? 0) : 0;
    const start = line.index + name.length + 1 + space.length + scheme;
    return [{ what: `${of} header ${name.toLowerCase()}`, start, end: start + value.length - scheme }];
  });
}

const PARAMETER = /[?&]([^=&\s]+)=([^&\s]*)/g;

function secretQuery(request: Buffer): Range[] {
  const lineEnd = request.indexOf('\n');
  const line = request.toString('latin1', 0, lineEnd < 0 ? request.length : lineEnd);
  return Array.from(line.matchAll(PARAMETER)).flatMap((member): Range[] => {
    const [, name = '', value = ''] = member;
    if (!SECRET_PARAMETER.test(name)) return [];
    const start = member.index + 1 + name.length + 1;
    return [{ what: `request query ${name}`, start, end: start + value.length }];
  });
}

function valuesIn(bytes: Buffer, ranges: readonly Range[]): string[] {
  return ranges.map(({ start, end }) => bytes.toString('latin1', start, end));
}

/** What a cookie says beside its value (RFC 6265, section 4.1.1). */
const COOKIE_ATTRIBUTE = /^\s*(expires|max-age|domain|path|samesite|priority)$/i;

/** A list of cookies is many secrets. */
function parts(secret: string): string[] {
  const values = secret.split(';').flatMap((member) => {
    const at = member.indexOf('=');
    return at < 0 || COOKIE_ATTRIBUTE.test(member.slice(0, at)) ? [] : [member.slice(at + 1)];
  });
  return [secret, ...values].filter((value) => value.length >= MIN_SECRET_LENGTH && !/^\*+$/.test(value));
}

function hidden(bytes: Buffer, ranges: readonly Range[], secrets: ReadonlySet<string>, of: string): Masked {
  const masked = Buffer.from(bytes);
  const what = new Set<string>();
  for (const range of ranges) {
    masked.fill(ASTERISK, range.start, range.end);
    what.add(range.what);
  }
  for (const secret of new Set([...secrets].flatMap(parts))) {
    for (let at = masked.indexOf(secret, 0, 'latin1'); at >= 0; at = masked.indexOf(secret, at + 1, 'latin1')) {
      masked.fill(ASTERISK, at, at + secret.length);
      what.add(`${of}, where it repeats a key`);
    }
  }
  return { bytes: masked, what: [...what] };
}
