import type { FaultSpec } from '../../../src/fault/spec.js';
import type { FaultServerOptions } from '../../../src/index.js';
import { PROTOCOLS, type Protocol } from '../../../src/sse/dialect.js';
import { type Answer, readAnswer } from '../../support/http.js';
import type { RefereeProtocol } from '../../support/referee.js';
import { serve } from '../../support/server.js';
import { post, witness } from '../../support/witness.js';
import { caseOptions } from './case-server.js';

/** What a raw client got of a variant of a case. */
export interface Wire {
  /** All bytes of the answer, head and framing included. */
  readonly raw: Buffer;
  readonly answer: Answer;
  /** The body as text, ids and times made the same. */
  readonly text: string;
  /** How many bytes there were after each read. */
  readonly reads: readonly number[];
  /** `kept`: the answer was complete, and the same connection answered another request. */
  readonly end: 'kept' | 'fin' | 'rst' | 'refused' | 'closed_by_witness';
}

export { PROTOCOLS, type Protocol };

const PATHS: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
};

export const REFEREE: Readonly<Record<Protocol, RefereeProtocol>> = {
  'openai-chat': 'openai-chat',
  'openai-responses': 'openai-responses',
  'anthropic-messages': 'anthropic',
};

/** What a request that wants a stream has in its body. */
export type Asked = Readonly<Record<string, unknown>>;

/** Ids and times are different in each answer, and of a fixed width. */
function same(text: string): string {
  return text
    .replaceAll(/(chatcmpl-|call_|msg_|toolu_|resp_|fc_|req_)[A-Za-z0-9]{20,60}/g, '$1ID')
    .replaceAll(/"(created|created_at|completed_at)":\d{10}/g, '"$1":0');
}

async function answered(options: FaultServerOptions, protocol: Protocol, asked: Asked): Promise<Wire> {
  const server = await serve(options);
  const client = witness(server.port);
  const request = post(PATHS[protocol], { model: 'mock-model', stream: true, ...asked });
  const reads: number[] = [];
  client.send(request);
  const complete = client.until((received) => {
    reads.push(received.length);
    return readAnswer(received)?.complete === true;
  });
  const whole = await complete.then(
    () => true,
    () => false, // The connection has ended, which is told below.
  );
  const raw = client.received;
  const answer = readAnswer(raw);
  if (!answer) throw new Error(`no whole head: ${JSON.stringify(raw.toString('latin1'))}`);
  const text = same(answer.body.toString());
  if (!whole) return { raw, answer, text, reads, end: await client.ended };
  client.send(request);
  await client.until((received) => readAnswer(received.subarray(raw.length))?.complete === true);
  client.close();
  return { raw, answer, text, reads, end: 'kept' };
}

/** The wire of a variant of a case. */
export async function wireOf(
  id: string,
  variant: string,
  protocol: Protocol,
  asked: Asked = {},
  timeScale = 1,
): Promise<Wire> {
  return answered({ ...(await caseOptions(id)), sequence: [variant], timeScale }, protocol, asked);
}

/** The body of a healthy answer, against which that of a faulty one is held. */
export async function healthy(
  protocol: Protocol,
  fault: Pick<FaultSpec, 'answer'> = {},
  asked: Asked = {},
): Promise<string> {
  return (await answered({ fidelity: 'plain', sequence: [fault] }, protocol, asked)).text;
}

/** A stream's text as its events, each with its blank line. */
export function eventsOf(text: string): string[] {
  return text.split(/(?<=\n\n)/);
}

/** Where the first delta of the text is in the list of events. */
export function firstDelta(events: readonly string[]): number {
  return events.findIndex((event) => /"delta":\{"content":"[^"]|output_text\.delta|content_block_delta/.test(event));
}

const RUNS = 5;

/**
 * The places at which no read has ended, of those that `wanted` finds. A read may take two segments where the machine is
 * busy, but none ends where no segment does: so one that was seen in any of some runs is there. Each run has pauses of
 * twice the length.
 */
export async function unread(
  [id, variant, protocol]: readonly [string, string, Protocol],
  wanted: (wire: Wire) => readonly number[],
): Promise<number[]> {
  const seen = new Set<number>();
  let missing: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const wire = await wireOf(id, variant, protocol, {}, 1 / 2 ** run);
    const places = wanted(wire);
    if (places.length === 0) throw new Error('no place to look for');
    for (const bytes of wire.reads) seen.add(bytes);
    missing = places.filter((at) => !seen.has(at));
    if (missing.length === 0) return [];
  }
  return missing;
}
