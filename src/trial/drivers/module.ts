import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Protocol } from '../../sse/dialect.js';
import { tell } from './tell.js';

/**
 * A driver of one's own: the last two arguments are a JavaScript module and the protocol. The module's default export,
 * or its export `ask`, asks one question and tells what it got. Throwing says that something went wrong.
 */
interface Context {
  /** Without `/v1`. */
  readonly baseURL: string;
  readonly key: string;
  readonly prompt: string;
  readonly protocol: Protocol;
  /** How often it may ask again; `undefined`: as often as it does by itself. */
  readonly maxRetries: number | undefined;
}

interface Told {
  /** What a user would see. */
  readonly text?: string;
  /** Why the answer ended, in the API's words, where the client looks at that. */
  readonly finish?: string | null;
  /** What went wrong, where it is told otherwise than by throwing. */
  readonly error?: string | null;
}

type Ask = (context: Context) => Promise<Told>;

const [path = '', protocol] = process.argv.slice(5) as [string?, Protocol?];
const loaded = (await import(pathToFileURL(resolve(path)).href)) as { readonly default?: Ask; readonly ask?: Ask };
const ask = loaded.default ?? loaded.ask;
if (typeof ask !== 'function') throw new Error(`${path} exports no function, neither as default nor as ask`);

await tell(async ({ baseURL, apiKey: key, prompt, retries: { maxRetries } }, got) => {
  const {
    text = '',
    finish,
    error,
  } = await ask({ baseURL, key, prompt, protocol: protocol ?? 'openai-chat', maxRetries });
  got.text = text;
  got.finish = finish ?? null;
  if (error) got.error = error;
});
