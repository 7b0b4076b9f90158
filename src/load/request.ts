import type { Protocol } from '../sse/dialect.js';
import { VERSION } from '../version.js';

/** What is asked, as the protocol has it. Pure. */
interface Asking {
  /** Behind `/v1/`. */
  readonly path: string;
  readonly model: string;
  body(model: string, prompt: string, stream: boolean): unknown;
  key(key: string): readonly [string, string];
  readonly headers: readonly (readonly [string, string])[];
}

const user = (content: string) => [{ role: 'user', content }];
const bearer = (key: string) => ['authorization', `Bearer ${key}`] as const;

const ASKING: Readonly<Record<Protocol, Asking>> = {
  'openai-chat': {
    path: 'chat/completions',
    model: 'gpt-5.4',
    body: (model, prompt, stream) => ({ model, stream, messages: user(prompt) }),
    key: bearer,
    headers: [],
  },
  'openai-responses': {
    path: 'responses',
    model: 'gpt-5.4',
    body: (model, prompt, stream) => ({ model, stream, input: prompt }),
    key: bearer,
    headers: [],
  },
  'anthropic-messages': {
    path: 'messages',
    model: 'claude-haiku-4-5',
    body: (model, prompt, stream) => ({ model, max_tokens: 1024, stream, messages: user(prompt) }),
    key: (key) => ['x-api-key', key],
    headers: [['anthropic-version', '2023-06-01']],
  },
};

export const DEFAULT_PROMPT = 'Say something.';

/** The URL that is asked: a base, with or without `/v1`, gets the protocol's path; any other path is kept. */
export function askedUrl(given: URL, protocol: Protocol): URL {
  const url = new URL(given);
  const base = url.pathname.replace(/\/$/, '');
  const { path } = ASKING[protocol];
  if (base === '') url.pathname = `/v1/${path}`;
  else if (base.endsWith('/v1')) url.pathname = `${base}/${path}`;
  return url;
}

export interface Wanted {
  readonly protocol: Protocol;
  readonly stream: boolean;
  readonly model: string | undefined;
  readonly prompt: string | undefined;
}

export function askedBody({ protocol, stream, model, prompt }: Wanted): Buffer {
  const asking = ASKING[protocol];
  return Buffer.from(JSON.stringify(asking.body(model ?? asking.model, prompt ?? DEFAULT_PROMPT, stream)));
}

/** The given ones take the place of those that are there without them. */
export function askedHeaders(
  protocol: Protocol,
  key: string | undefined,
  given: readonly (readonly [string, string])[],
): (readonly [string, string])[] {
  const asking = ASKING[protocol];
  const own: (readonly [string, string])[] = [
    ['content-type', 'application/json'],
    ['user-agent', `wirefault-load/${VERSION}`],
    ...asking.headers,
    ...(key === undefined ? [] : [asking.key(key)]),
  ];
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  return [...own.filter(([name]) => !names.has(name)), ...given];
}
