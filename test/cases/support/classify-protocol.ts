import type { Seen } from './clients-protocol.js';

/** What a client did, in one plain line that is derived from what it told, what it threw and how often it asked. */
export interface Run {
  readonly seen: Seen;
  /** The text of the answer that was sent. */
  readonly sent: string;
  /** Whether a chunk with the usage was sent. */
  readonly usageSent: boolean;
  /** The answer stays open: what came was our own end of it, after the client had time enough. */
  readonly held: boolean;
  readonly requests: number;
}

/** Names that say nothing by themselves. */
const GENERIC = ['Error', 'TypeError', 'OpenAIError', 'AnthropicError'];

/** The engine's words about bad JSON change with its version, and may have ids in them. */
function saying(message: string): string {
  return /JSON/.test(message) ? ' about its JSON' : ` "${message.split('\n')[0] ?? ''}"`;
}

export function nameOf(error: unknown): string {
  if (!(error instanceof Error)) {
    const told = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : undefined;
    return told === undefined ? 'a value that is no error' : `an error object${saying(told)}`;
  }
  const name = error.name === 'Error' ? error.constructor.name : error.name;
  return GENERIC.includes(name) ? `${name}${saying(error.message)}` : name;
}

function textOf(text: string, sent: string): string[] {
  if (text === '') return [];
  if (text === sent) return ['the whole text'];
  return [sent.startsWith(text) ? 'a first part of the text' : `only ${JSON.stringify(text)} of the text`];
}

/** What was told before any end of it: text, calls. */
function contentOf({ text, calls }: Seen, sent: string): string | undefined {
  const told = calls.map(
    (call) => `the call ${call.name}(${call.arguments})${call.invalid ? ' marked as invalid' : ''}`,
  );
  const parts = [...textOf(text, sent), ...told];
  return parts.length > 0 ? parts.join(' and ') : undefined;
}

export function classify({ seen, sent, usageSent, held, requests }: Run): string {
  const content = contentOf(seen, sent);
  const asked = requests === 1 ? '' : `, in ${requests} requests`;
  if (held) return `tells ${content ?? 'nothing'} while the stream is open${asked}`;
  if (seen.thrown !== undefined) return `throws ${nameOf(seen.thrown)}${content ? ` after ${content}` : ''}${asked}`;
  const finish = seen.finish ? `finish ${seen.finish}` : 'no finish';
  if (seen.errors.length > 0) {
    const errors = [...new Set(seen.errors.map(nameOf))].join(' and ');
    return `reports ${errors}${content ? ` beside ${content}` : ''}, ${finish}${asked}`;
  }
  // An end without a word is taken for success by whoever doesn't look for a reason of it.
  const silent = seen.finish ? '' : ' as success';
  const usage = usageSent && seen.outputTokens === undefined ? ', no usage' : '';
  return `returns ${content ?? 'nothing'}${silent}, ${finish}${usage}${asked}`;
}
