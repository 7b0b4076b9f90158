/**
 * What all drivers have in common: a plain program that asks a question, prints what it got as JSON, and says by its
 * exit code whether its SDK threw. It looks at nothing that the SDK doesn't push at it.
 */
export interface Asked {
  /** Without `/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
  readonly prompt: string;
}

/** What of an answer has come so far; drivers add to it. */
export interface Got {
  text: string;
  /** Why the answer ended, in the API's words. */
  finish: string | null;
  /** Told otherwise than by throwing. */
  error?: string;
}

export async function tell(ask: (asked: Asked, got: Got) => Promise<void>): Promise<void> {
  const [, , baseURL = '', apiKey = '', prompt = ''] = process.argv;
  const got: Got = { text: '', finish: null };
  try {
    await ask({ baseURL, apiKey, prompt }, got);
  } catch (thrown) {
    got.error = saidBy(thrown);
    process.exitCode = 1;
  }
  process.stdout.write(`${JSON.stringify({ ...got, error: got.error ?? null })}\n`);
}

/** An error's name and message, and the code of whatever caused it. */
export function saidBy(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown === 'string' ? thrown : JSON.stringify(thrown);
  let code: unknown;
  for (let at: unknown = thrown; at instanceof Error; at = at.cause) if ('code' in at && at.code) code = at.code;
  return `${thrown.name}: ${thrown.message}${code === undefined ? '' : ` (${String(code)})`}`;
}
