import { createParser } from 'eventsource-parser';
import type { LaneScript } from '../../../src/options.js';
import { headerOf, readAnswer } from '../../support/http.js';
import { bodyOf, type Connection, faultOf, type StreamCase, type Told } from './stream-case.js';
import { connectionsInWords } from './told.js';
import { CASE_HEADER, inParallel, PATH, type Seen, see, seeUntil } from './wire.js';

/** Asks for stream cases: as a raw witness, and as a client with eventsource-parser. */

/** A lane for each case, which walks its connections, and one for each of these, which repeats it. */
export function lanesOf(cases: readonly StreamCase[]): Record<string, LaneScript> {
  return Object.fromEntries(
    cases.flatMap(({ id, connections }) => [
      [id, { sequence: connections.map(faultOf) }],
      ...connections.map((one, n) => [laneOf(id, n), { sequence: [faultOf(one)], repeatLast: true }] as const),
    ]),
  );
}

export const LANES = { laneBy: `header:${CASE_HEADER}`, sequence: ['invalid_request'] } as const;

const laneOf = (id: string, n: number): string => `${id}/${n + 1}`;

/** The most that comes in one read for sure. */
const ONE_READ_BYTES = 16_384;
const CRLF_BYTES = 2;

/** The lengths of what is sent, in its framing. */
function wireLengths({ segments, framing = 'chunked', end = 'open' }: Connection): number[] {
  const full = segments.filter(({ length }) => length > 0);
  if (framing !== 'chunked') return full.map(({ length }) => length);
  const chunks = full.map(({ length }) => length.toString(16).length + CRLF_BYTES + length + CRLF_BYTES);
  return end === 'whole' ? [...chunks, '0\r\n\r\n'.length] : chunks;
}

/** After how many bytes each send of the answer ends; the head is one. */
function sends(bytes: Buffer, connection: Connection): number[] {
  let at = bytes.indexOf('\r\n\r\n') + 4;
  return [
    at,
    ...wireLengths(connection).map((length) => {
      at += length;
      return at;
    }),
  ];
}

const same = (a: readonly number[], b: readonly number[]): boolean => a.join() === b.join();

/** What on the wire isn't as the case has it; nothing where all is. */
function problemsOf({ bytes, reads, end }: Seen, connection: Connection): string[] {
  const { segments, framing = 'chunked', end: wanted = 'open', status = 200, reason, headers = [] } = connection;
  const { contentType = 'text/event-stream; charset=utf-8' } = connection;
  const answer = readAnswer(bytes);
  if (!answer) return [`no whole head: ${JSON.stringify(bytes.toString('latin1'))}`];
  const chunks = framing === 'chunked' ? segments.map(({ length }) => length).filter((length) => length > 0) : [];
  const statusLine = bytes.toString('latin1', 0, bytes.indexOf('\r\n'));
  const all = [...(contentType === '' ? [] : [['Content-Type', contentType] as const]), ...headers];
  const missing = all.filter(
    ([name, value]) => !answer.headers.some(([known, has]) => known === name.toLowerCase() && has === value),
  );
  const checks: [boolean, string][] = [
    [answer.status === status, `status ${answer.status}`],
    [reason === undefined || statusLine.endsWith(` ${reason}`), statusLine],
    [missing.length === 0, `no header ${JSON.stringify(missing)}`],
    [answer.body.equals(bodyOf(connection)), `body ${JSON.stringify(answer.body.toString('latin1').slice(0, 200))}`],
    [same(answer.chunks, chunks), `chunks of ${answer.chunks.join()}`],
    [framing !== 'chunked' || answer.complete === (wanted === 'whole'), `complete: ${answer.complete}`],
    [status !== 204 || headerOf(answer, 'content-length') === undefined, 'a 204 with a length'],
    [answer.rest.length === 0, `${answer.rest.length} more bytes`],
    [end === (wanted === 'open' ? 'open' : 'fin'), `ended by ${end}`],
    [bytes.length > ONE_READ_BYTES || same(reads, sends(bytes, connection)), `reads up to ${reads.join()}`],
  ];
  return checks.flatMap(([good, problem]) => (good ? [] : [problem]));
}

/** For each connection what isn't as it should be; `{}` where all is. */
export async function wireProblems(port: number, cases: readonly StreamCase[]): Promise<Record<string, string[]>> {
  const problems: Record<string, string[]> = {};
  const all = cases.flatMap(({ id, connections }) => connections.map((one, n) => ({ lane: laneOf(id, n), one })));
  await inParallel(all, async ({ lane, one }) => {
    const length = wireLengths(one).reduce((sum, each) => sum + each, 0);
    const whole = (received: Buffer): boolean => {
      const head = received.indexOf('\r\n\r\n');
      return head >= 0 && received.length >= head + 4 + length;
    };
    const look = (): Promise<Seen> => see(port, lane, (one.end ?? 'open') === 'open' ? whole : undefined);
    const found = problemsOf(await seeUntil(look, (seen) => problemsOf(seen, one).length === 0), one);
    if (found.length > 0) problems[lane] = found;
  });
  return problems;
}

/** What Node's fetch and eventsource-parser make of one connection. `id`: the last event ID so far. */
async function parsed(
  baseURL: string,
  lane: string,
  one: Connection,
  id: string,
): Promise<{ told: Told[]; id: string }> {
  const told: Told[] = [];
  let lastId = id;
  const parser = createParser({
    // As the package `eventsource` does, which is built upon the parser: an ID lasts.
    onEvent: ({ data, event, id: own }) => {
      lastId = own ?? lastId;
      told.push({ data, ...(event === undefined ? {} : { type: event }), ...(lastId === '' ? {} : { id: lastId }) });
    },
    onRetry: (retry) => told.push({ retry }),
    ...(one.expected?.some((each) => 'comment' in each)
      ? { onComment: (comment: string) => told.push({ comment }) }
      : {}),
  });
  const response = await fetch(`${baseURL}${PATH}`, { method: 'POST', headers: { [CASE_HEADER]: lane } });
  const decoder = new TextDecoder();
  let left = bodyOf(one).length;
  const reader = response.body?.getReader();
  while (reader && (left > 0 || one.end !== undefined)) {
    // A stream that is cut off is told as an error of the body, behind what came of it.
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
    if (done) break;
    left -= value.length;
    parser.feed(decoder.decode(value, { stream: true }));
  }
  await reader?.cancel().catch(() => {});
  return { told, id: lastId };
}

/** What is expected, in words; `undefined` where the suite expects nothing of a parser. */
export function expectedOf({ connections }: StreamCase): string | undefined {
  const all = connections.map(({ expected }) => expected);
  return all.some((one) => one === undefined) ? undefined : connectionsInWords(all.map((one) => one ?? []));
}

/** What is noted of the parser. */
export function notedOf(one: StreamCase): string | undefined {
  return one.parser ?? expectedOf(one);
}

/** What each case comes out as, in words. */
export async function parserOutcomes(baseURL: string, cases: readonly StreamCase[]): Promise<Record<string, string>> {
  const outcomes: Record<string, string> = {};
  await inParallel(cases, async ({ id, connections }) => {
    const all: Told[][] = [];
    let lastId = '';
    for (const one of connections) {
      const result = await parsed(baseURL, id, one, lastId);
      all.push(result.told);
      lastId = result.id;
    }
    outcomes[id] = connectionsInWords(all);
  });
  return outcomes;
}
