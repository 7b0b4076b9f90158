import { APICallError, RetryError } from 'ai';
import { causesOf } from '../../clients/support/sdk.js';
import { nameOf } from './classify-protocol.js';
import type { Ask, Client, Seen } from './clients-connection.js';

/** What a client did, in one plain line that is derived from what it told, what it threw and how often it tried. */
export interface Ran {
  readonly seen: Seen;
  readonly thrown: unknown;
  /** It had not ended when this test ended it, so long after its start. */
  readonly hungMs: number | undefined;
}

/** Runs a client; one that doesn't end is ended after `hangMs`. */
export async function run(
  client: Client,
  ask: Omit<Ask, 'signal'>,
  { hangMs }: { readonly hangMs?: number } = {},
): Promise<Ran> {
  const seen: Seen = { text: '', finish: undefined, errors: [], tries: 0, status: undefined };
  const controller = new AbortController();
  const timer = hangMs === undefined ? undefined : setTimeout(() => controller.abort(), hangMs);
  let thrown: unknown;
  try {
    await client.call({ ...ask, signal: controller.signal }, seen);
  } catch (error) {
    thrown = error;
  }
  clearTimeout(timer);
  return { seen, thrown, hungMs: controller.signal.aborted ? hangMs : undefined };
}

/** The code of the first cause, or the HTTP status. */
function reasonOf(error: unknown): string | number | undefined {
  // The AI SDK keeps what it has tried beside the causes.
  if (RetryError.isInstance(error)) return reasonOf(error.lastError);
  const [code] = causesOf(error).toReversed();
  if (typeof code === 'string') return code;
  if (APICallError.isInstance(error)) return error.statusCode;
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : undefined;
}

function errorText(error: unknown): string {
  const reason = reasonOf(error);
  return `${nameOf(error)}${reason === undefined ? '' : ` (${reason})`}`;
}

/** The text of an answer; one that is drawn is known by its form. */
export type Sent = string | RegExp;

function textOf({ text }: Seen, sent: Sent): string {
  if (text === '') return 'nothing';
  if (typeof sent === 'string' ? text === sent : sent.test(text)) return 'the whole text';
  if (typeof sent === 'string' && !sent.startsWith(text)) return `other words, ${JSON.stringify(text.slice(0, 80))}`;
  return 'a first part of the text';
}

export function classify(
  { seen, thrown, hungMs }: Ran,
  { sent, timeoutMs }: { readonly sent: Sent; readonly timeoutMs?: number | undefined },
): string {
  const tries = seen.tries === 1 ? '' : `, in ${seen.tries} tries`;
  const content = textOf(seen, sent);
  if (hungMs !== undefined) {
    const limit =
      timeoutMs === undefined ? 'no time-out of its own' : `its time-out of ${timeoutMs / 1000} s doesn't end it`;
    return `hangs with ${content} (${limit} within ${hungMs / 1000} s)${tries}`;
  }
  if (thrown !== undefined)
    return `throws ${errorText(thrown)}${content === 'nothing' ? '' : ` after ${content}`}${tries}`;
  if (seen.status !== undefined) return `gets the status ${seen.status}${tries}`;
  const finish = seen.finish ? `finish ${seen.finish}` : 'no finish';
  if (seen.errors.length > 0) return `reports ${seen.errors.map(errorText).join(' and ')}, ${finish}${tries}`;
  // An end without a word is taken for success by whoever doesn't look for a reason of it.
  return `returns ${content}${seen.finish ? '' : ' as success'}, ${finish}${tries}`;
}
