import { fetch, type Response } from 'undici';
import type { FaultSpec } from '../../../src/fault/spec.js';
import type { LaneScript } from '../../../src/options.js';
import { quoted } from './told.js';
import { CASE_HEADER, inParallel, PATH, see } from './wire.js';

/** A case about a whole HTTP message: all that is on the wire, up to the end of the connection. */
export interface MessageCase {
  readonly id: string;
  /** The suite's file, from the root of its repository. */
  readonly source: string;
  /** A byte string: `\xNN` is one byte. */
  readonly bytes: string;
  readonly fault: FaultSpec;
  readonly expected: Expected;
  /** What undici makes of it where that isn't what is expected. */
  readonly undici?: string;
  /** How the suite contradicts itself, or a standard contradicts it. */
  readonly contested?: string;
  readonly note?: string;
}

export type Expected = 'network error' | Partial<Result>;

/** What a client has of an answer. */
interface Result {
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The body ended with an error, whatever came of it. */
  readonly broken: true;
}

const HEAD_END = /^[\s\S]*?(?:\r\n\r\n|\n\n)/;

/** `bytes` as they stand, then the end of the connection. */
export function literal(bytes: string): FaultSpec {
  const [head = bytes] = HEAD_END.exec(bytes) ?? [];
  const body = bytes.slice(head.length);
  const utf8 = Buffer.byteLength(body) === body.length;
  return {
    answer: { kind: 'http', status: 200, body: utf8 ? body : '' },
    framing: { kind: 'until_close' },
    head: { raw: head },
    // Text of a body is UTF-8; other bytes are put in as what they are.
    ...(utf8 ? {} : { splice: [{ at: 'body:0', hex: Buffer.from(body, 'latin1').toString('hex') }] }),
  };
}

export function messageLanes(cases: readonly MessageCase[]): Record<string, LaneScript> {
  return Object.fromEntries(cases.map(({ id, fault }) => [id, { sequence: [fault], repeatLast: true }]));
}

/** For each case what isn't as it should be on the wire; `{}` where all is. */
export async function messageProblems(port: number, cases: readonly MessageCase[]): Promise<Record<string, string>> {
  const problems: Record<string, string> = {};
  await inParallel(cases, async ({ id, bytes }) => {
    const seen = await see(port, id);
    const got = seen.bytes.toString('latin1');
    if (got !== bytes) problems[id] = quoted(got);
    else if (seen.end !== 'fin') problems[id] = `ended by ${seen.end}`;
  });
  return problems;
}

export function resultInWords(result: 'network error' | Partial<Result>): string {
  if (result === 'network error') return result;
  const { status, statusText, headers = {}, body, broken } = result;
  const fields = Object.entries(headers).map(([name, value]) => `${name} ${quoted(value)}`);
  return [
    `${status ?? 200}${statusText === undefined ? '' : ` ${quoted(statusText)}`}`,
    ...fields,
    ...(body === undefined ? [] : [`body ${quoted(body)}`]),
    ...(broken ? ['then an error'] : []),
  ].join(', ');
}

/** What is noted of undici. */
export function notedOf({ expected, undici }: MessageCase): string {
  return undici ?? resultInWords(expected);
}

async function bodyOf(response: Response): Promise<Pick<Result, 'body'> & { broken?: true }> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of response.body ?? []) parts.push(part);
  } catch {
    return { body: Buffer.concat(parts).toString('latin1'), broken: true };
  }
  return { body: Buffer.concat(parts).toString('latin1') };
}

/** What undici has of an answer. */
export async function resultOf(url: string, id: string): Promise<'network error' | Result | Omit<Result, 'broken'>> {
  const response = await fetch(url, { method: 'POST', headers: { [CASE_HEADER]: id } }).catch(() => undefined);
  if (!response) return 'network error';
  const { status, statusText } = response;
  return { status, statusText, headers: Object.fromEntries(response.headers), ...(await bodyOf(response)) };
}

/** `actual` as far as it is expected, where it is all that is expected; otherwise all of it. */
function told(actual: Awaited<ReturnType<typeof resultOf>>, expected: Expected): string {
  if (actual === 'network error' || expected === 'network error') return resultInWords(actual);
  const { headers = {}, ...rest } = expected;
  const all: Partial<Result> = actual;
  const asked = { ...Object.fromEntries(Object.keys(rest).map((key) => [key, all[key as keyof Result]])) };
  const named = Object.fromEntries(Object.keys(headers).map((name) => [name, actual.headers[name] ?? '(none)']));
  const broken = all.broken ? { broken: all.broken } : {};
  const told = resultInWords({ ...asked, ...(Object.keys(named).length > 0 ? { headers: named } : {}), ...broken });
  return told === resultInWords(expected) ? told : resultInWords(actual);
}

/** What each case comes out as, in words. */
export async function undiciOutcomes(baseURL: string, cases: readonly MessageCase[]): Promise<Record<string, string>> {
  const outcomes: Record<string, string> = {};
  await inParallel(cases, async ({ id, expected }) => {
    outcomes[id] = told(await resultOf(`${baseURL}${PATH}`, id), expected);
  });
  return outcomes;
}
