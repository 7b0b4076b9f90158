import { setImmediate } from 'node:timers/promises';

/**
 * What all drivers have in common: a plain program that asks a question, prints what it got as JSON, and says by its
 * exit code whether its SDK threw. It looks at nothing that the SDK doesn't push at it. Where it is forked, it asks a
 * question for each message instead, one after the other, and its exit code says nothing.
 */
export interface Asked {
  /** Without `/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
  readonly prompt: string;
  /** For the SDK's options: empty where its own default is wanted. */
  readonly retries: { readonly maxRetries?: number };
}

/** What of an answer has come so far; drivers add to it. */
export interface Got {
  text: string;
  /** Why the answer ended, in the API's words. */
  finish: string | null;
  /** Told otherwise than by throwing. */
  error?: string;
}

type Ask = (asked: Asked, got: Got) => Promise<void>;

/** What a driver tells of an answer. */
export interface Told {
  readonly got: Omit<Got, 'error'> & { readonly error: string | null };
  /** Its SDK threw. */
  readonly threw: boolean;
}

export async function tell(ask: Ask): Promise<void> {
  if (process.send) {
    process.on('message', async (asked: Asked) => {
      const told = await answered(ask, asked);
      // What nothing catches ends the process now, and not during the next question.
      await setImmediate();
      process.send?.(told);
    });
    return;
  }
  const [, , baseURL = '', apiKey = '', prompt = ''] = process.argv;
  const { got, threw } = await answered(ask, { baseURL, apiKey, prompt, retries: {} });
  if (threw) process.exitCode = 1;
  process.stdout.write(`${JSON.stringify(got)}\n`);
}

async function answered(ask: Ask, asked: Asked): Promise<Told> {
  const got: Got = { text: '', finish: null };
  try {
    await ask(asked, got);
    return { got: { ...got, error: got.error ?? null }, threw: false };
  } catch (thrown) {
    return { got: { ...got, error: saidBy(thrown) }, threw: true };
  }
}

/** An error's name and message, and the code of whatever caused it. */
export function saidBy(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown === 'string' ? thrown : JSON.stringify(thrown);
  let code: unknown;
  for (let at: unknown = thrown; at instanceof Error; at = at.cause) if ('code' in at && at.code) code = at.code;
  return `${thrown.name}: ${thrown.message}${code === undefined ? '' : ` (${String(code)})`}`;
}
