import { FAULT_HEADER } from '../http/asked-fault.js';
import type { Protocol } from '../sse/dialect.js';

/**
 * A client's request as it goes up: what is the proxy's own is taken out or changed (Host, the key where one is given,
 * what asks for a fault), all else stays byte for byte, the order and case of headers too. Pure.
 */
export interface UpForm {
  /** Of the upstream, as its URL has it: `api.example.com`, `127.0.0.1:9000`. */
  readonly host: string;
  /** The upstream URL's path, without a slash at its end; empty for none. */
  readonly basePath: string;
  /** Instead of the client's. */
  readonly key?: string | undefined;
  /** Ask for an answer that isn't compressed. */
  readonly decode: boolean;
  /** Says which header a key that the client didn't send goes into. */
  readonly protocol: Protocol | undefined;
}

const LINE = /([^\r\n]*)(\r?\n)/y;

/** @param raw a whole request as it was on the wire */
export function requestUp(raw: Buffer, form: UpForm): Buffer {
  const { lines, eol, end } = headOf(raw);
  const [first = '', ...headers] = lines;
  const names = new Set<string>();
  const kept = headers.flatMap((line) => {
    const name = line.slice(0, line.indexOf(':')).toLowerCase();
    const changed = headerUp(name, line, form);
    if (changed !== undefined) names.add(name);
    return changed === undefined ? [] : [changed];
  });
  const head = [requestLineUp(first, form.basePath), ...kept, ...added(names, form), '', ''].join(eol);
  return Buffer.concat([Buffer.from(head, 'latin1'), raw.subarray(end)]);
}

/** The lines of the head, without the blank ones before and behind it. */
function headOf(raw: Buffer): { lines: string[]; eol: string; end: number } {
  // No head is longer than the parser allows, but a body may be.
  const text = raw.toString('latin1', 0, Math.max(0, endOfHead(raw)));
  const lines: string[] = [];
  let eol = '\r\n';
  LINE.lastIndex = 0;
  for (let line = LINE.exec(text); line; line = LINE.exec(text)) {
    const [, content = '', end = ''] = line;
    if (content !== '') {
      lines.push(content);
      eol = end;
    } else if (lines.length > 0) return { lines, eol, end: LINE.lastIndex };
  }
  return { lines, eol, end: text.length };
}

/** An offset behind the empty line, which CR may be left out of. */
function endOfHead(raw: Buffer): number {
  let at = 0;
  while (raw[at] === 0x0d || raw[at] === 0x0a) at++;
  const ends = ['\r\n\r\n', '\n\n', '\n\r\n'].flatMap((text) => {
    const found = raw.indexOf(text, at, 'latin1');
    return found < 0 ? [] : [found + text.length];
  });
  return Math.min(raw.length, ...ends);
}

function requestLineUp(line: string, basePath: string): string {
  const [method = '', target = '', version = ''] = line.split(' ');
  // Clients that take us for a forward proxy send the whole URL; only the configured upstream is ever asked.
  const origin = target.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
  const path = origin.replace(/^\/fault\/[^/?]+(?=\/)/, '');
  return [method, `${basePath}${withoutFault(path)}`, version].join(' ');
}

/** Without `fault=` in the query; the other members stay as they were written. */
function withoutFault(target: string): string {
  const at = target.indexOf('?');
  if (at < 0) return target;
  const members = target.slice(at + 1).split('&');
  const kept = members.filter((member) => !/^fault(=|$)/.test(member));
  if (kept.length === members.length) return target;
  return kept.length === 0 ? target.slice(0, at) : `${target.slice(0, at)}?${kept.join('&')}`;
}

/** `undefined`: the header doesn't go up. */
function headerUp(name: string, line: string, { host, key, decode }: UpForm): string | undefined {
  const named = line.slice(0, line.indexOf(':') + 1);
  switch (name) {
    case 'host':
      return `${named} ${host}`;
    case 'authorization':
      return key === undefined ? line : `${named} Bearer ${key}`;
    case 'x-api-key':
      return key === undefined ? line : `${named} ${key}`;
    case 'accept-encoding':
      return decode ? `${named} identity` : line;
    // The body is there already, so nobody has to wait for a 100.
    case 'expect':
    case FAULT_HEADER:
      return undefined;
    default:
      return line;
  }
}

function added(names: ReadonlySet<string>, { host, key, decode, protocol }: UpForm): string[] {
  const keyed = names.has('authorization') || names.has('x-api-key');
  const own = protocol === 'anthropic-messages' ? `x-api-key: ${key}` : `Authorization: Bearer ${key}`;
  return [
    ...(names.has('host') ? [] : [`Host: ${host}`]),
    ...(key === undefined || keyed ? [] : [own]),
    ...(decode && !names.has('accept-encoding') ? ['Accept-Encoding: identity'] : []),
  ];
}
