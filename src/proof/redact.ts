import { SECRET_HEADERS } from '../http/secret-headers.js';

const REDACTED = '[redacted]';

/** Keys in a request line's query, as some providers take them. */
const SECRET_QUERY = /([?&](?:key|api[-_]?key|access_token)=)[^& ]+/gi;

/** `Bearer abc` becomes `Bearer [redacted]`: the scheme tells how a client authenticates, and is no secret. */
function redactedValue(value: string): string {
  const scheme = /^([A-Za-z]+) +\S/.exec(value)?.[1];
  return scheme ? `${scheme} ${REDACTED}` : REDACTED;
}

/** Heads that are the same bytes are one object (http/known-heads), which is redacted once. */
const redacted = new WeakMap<Readonly<Record<string, string>>, Readonly<Record<string, string>>>();

export function redactHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const known = redacted.get(headers);
  if (known) return known;
  const made = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.has(name) ? redactedValue(value) : value]),
  );
  redacted.set(headers, made);
  return made;
}

/** The head of a raw request with the values of secret headers redacted; its body stays as it is. */
export function redactRawRequest(bytes: Buffer): Buffer {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return bytes;
  const lines = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const hidden = lines.map((line, n) => {
    if (n === 0) return line.replace(SECRET_QUERY, `$1${REDACTED}`);
    const [, name = '', value = ''] = /^([^:]+): *(.*)$/.exec(line) ?? [];
    return SECRET_HEADERS.has(name.toLowerCase()) ? `${name}: ${redactedValue(value)}` : line;
  });
  return Buffer.concat([Buffer.from(hidden.join('\r\n'), 'latin1'), bytes.subarray(headEnd)]);
}
