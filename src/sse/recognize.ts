import type { ContentKind, Protocol, Role } from './dialect.js';
import { isObject } from './dialect.js';
import type { EventFields } from './scanner.js';

/**
 * What an event on somebody else's wire is: its name, its role, and where in its JSON it has content. One table for
 * each protocol; the names and roles are those of our own dialects.
 */
export interface Recognized {
  readonly name: string;
  readonly role: Role;
}

/** A piece of content: its kind, and the path of the JSON string that holds it. */
export interface ContentPlace {
  readonly kind: ContentKind;
  readonly path: readonly (string | number)[];
}

interface Recognizer {
  recognize(fields: EventFields): Recognized;
  /** In the order of their kinds, not of the wire. */
  places(fields: EventFields): readonly ContentPlace[];
}

const MALFORMED: Recognized = { name: 'malformed_json', role: 'malformed' };
const DONE: Recognized = { name: '[DONE]', role: 'terminal' };
const KEEPALIVE: Recognized = { name: 'keep-alive', role: 'keepalive' };

/** The last words of any protocol: one that is foreign here ends a stream for a client that knows it. */
const TERMINALS: Readonly<Record<string, Role>> = {
  message_stop: 'terminal',
  'response.completed': 'terminal',
  'response.incomplete': 'terminal',
  'response.failed': 'terminal',
  error: 'error',
};

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** The name of an event that says it: in its `event` line, or in its JSON's `type`. */
function typeOf({ event, data }: EventFields): string | undefined {
  if (event !== undefined && event !== '') return event;
  const json = data === undefined ? undefined : parsed(data);
  return isObject(json) && typeof json.type === 'string' ? json.type : undefined;
}

/** Protocols whose events have names. */
function named(roleOf: (name: string) => Role, placesOf: (name: string, json: unknown) => ContentPlace[]): Recognizer {
  return {
    recognize: (fields) => {
      if (fields.data === undefined) return { ...KEEPALIVE };
      if (fields.data === '[DONE]') return DONE;
      const name = typeOf(fields);
      if (name === undefined) return parsed(fields.data) === undefined ? MALFORMED : { name: 'extra', role: 'extra' };
      return { name, role: TERMINALS[name] ?? roleOf(name) };
    },
    places: (fields) => placesOf(typeOf(fields) ?? '', parsed(fields.data ?? '')),
  };
}

const ANTHROPIC_ROLES: Readonly<Record<string, Role>> = {
  message_start: 'open',
  content_block_start: 'start',
  ping: 'keepalive',
  content_block_delta: 'delta',
  content_block_stop: 'done',
  message_delta: 'finish',
};

const ANTHROPIC_CONTENT: Readonly<Record<string, readonly [ContentKind, string]>> = {
  text_delta: ['text', 'text'],
  thinking_delta: ['reasoning', 'thinking'],
  input_json_delta: ['tool_args', 'partial_json'],
};

const anthropic = named(
  (name) => ANTHROPIC_ROLES[name] ?? 'extra',
  (name, json) => {
    const delta = isObject(json) && name === 'content_block_delta' && isObject(json.delta) ? json.delta : {};
    const found = ANTHROPIC_CONTENT[String(delta.type)];
    return found ? [{ kind: found[0], path: ['delta', found[1]] }] : [];
  },
);

function responsesRole(name: string): Role {
  if (name === 'keepalive') return 'keepalive';
  if (/^response\.(created|queued|in_progress)$/.test(name)) return 'open';
  if (name.endsWith('.delta')) return 'delta';
  if (name.endsWith('.added')) return 'start';
  return name.endsWith('.done') ? 'done' : 'extra';
}

const RESPONSES_CONTENT: readonly (readonly [RegExp, ContentKind])[] = [
  [/output_text\.delta$/, 'text'],
  [/refusal\.delta$/, 'refusal'],
  [/reasoning(_summary)?_text\.delta$/, 'reasoning'],
  [/(arguments|_input)\.delta$/, 'tool_args'],
];

const responses = named(responsesRole, (name) => {
  const found = RESPONSES_CONTENT.find(([pattern]) => pattern.test(name));
  return found ? [{ kind: found[1], path: ['delta'] }] : [];
});

/** Of a Chat delta, by who sends it: DeepSeek's reasoning, OpenRouter's and Groq's. */
const CHAT_TEXTS: readonly (readonly [field: string, kind: ContentKind])[] = [
  ['content', 'text'],
  ['refusal', 'refusal'],
  ['reasoning_content', 'reasoning'],
  ['reasoning', 'reasoning'],
];

const CHAT_DELTAS: readonly Recognized[] = CHAT_TEXTS.map(([name]) => ({ name, role: 'delta' }));
const EXTRA: Recognized = { name: 'extra', role: 'extra' };
const ERROR: Recognized = { name: 'error', role: 'error' };
const NULL_CHOICE: Recognized = { name: 'malformed_event', role: 'malformed' };
const FINISH: Recognized = { name: 'finish', role: 'finish' };
const ROLE: Recognized = { name: 'role', role: 'start' };
const TOOL_ARGS: Recognized = { name: 'tool_args', role: 'delta' };
const TOOL_CALL: Recognized = { name: 'tool_call', role: 'start' };
const USAGE: Recognized = { name: 'usage', role: 'usage' };

const isFilled = (value: unknown): boolean => typeof value === 'string' && value !== '';

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The deltas of a chunk: one for each choice that speaks. */
function deltasOf(json: unknown): { readonly delta: Readonly<Record<string, unknown>>; readonly at: number }[] {
  const choices = isObject(json) ? listOf(json.choices) : [];
  return choices.flatMap((choice, at) =>
    isObject(choice) && isObject(choice.delta) ? [{ delta: choice.delta, at }] : [],
  );
}

function functionsOf(delta: Readonly<Record<string, unknown>>): unknown[] {
  return listOf(delta.tool_calls).map((call) => (isObject(call) ? call.function : undefined));
}

/** One walk over the choices: it is done for each event that passes. */
function chatEvent(json: unknown): Recognized {
  if (!isObject(json)) return json === undefined ? MALFORMED : EXTRA;
  if (isObject(json.error)) return ERROR;
  let found: Recognized | undefined;
  let rank = Number.POSITIVE_INFINITY;
  const see = (at: number, what: Recognized): void => {
    if (at < rank) [rank, found] = [at, what];
  };
  for (const choice of listOf(json.choices)) {
    if (choice === null) return NULL_CHOICE;
    if (!isObject(choice)) continue;
    if (isFilled(choice.finish_reason)) see(5, FINISH);
    const { delta } = choice;
    if (!isObject(delta)) continue;
    for (let at = 0; at < CHAT_DELTAS.length; at++) {
      const text = CHAT_DELTAS[at];
      if (text && isFilled(delta[text.name])) see(at, text);
    }
    if (delta.role !== undefined && delta.role !== null) see(6, ROLE);
    if (delta.tool_calls === undefined) continue;
    const functions = functionsOf(delta);
    if (functions.some((called) => isObject(called) && isFilled(called.arguments))) see(4, TOOL_ARGS);
    else if (functions.length > 0) see(7, TOOL_CALL);
  }
  return found ?? (isObject(json.usage) ? USAGE : EXTRA);
}

const chat: Recognizer = {
  recognize: ({ event = '', data }) => {
    if (data === undefined) return KEEPALIVE;
    if (data === '[DONE]') return DONE;
    const known = TERMINALS[event];
    return known ? { name: event, role: known } : chatEvent(parsed(data));
  },
  places: ({ data = '' }) =>
    deltasOf(parsed(data)).flatMap(({ delta, at }): ContentPlace[] => {
      const path = ['choices', at, 'delta'];
      return [
        ...CHAT_TEXTS.filter(([field]) => isFilled(delta[field])).map(([field, kind]) => ({
          kind,
          path: [...path, field],
        })),
        ...functionsOf(delta).flatMap((called, n): ContentPlace[] =>
          isObject(called) && isFilled(called.arguments)
            ? [{ kind: 'tool_args', path: [...path, 'tool_calls', n, 'function', 'arguments'] }]
            : [],
        ),
      ];
    }),
};

const RECOGNIZERS: Readonly<Record<Protocol, Recognizer>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': anthropic,
};

export function recognize(protocol: Protocol, fields: EventFields): Recognized {
  return RECOGNIZERS[protocol].recognize(fields);
}

/** Where an event has content. Only asked for where a position needs it. */
export function contentPlaces(protocol: Protocol, fields: EventFields): readonly ContentPlace[] {
  return RECOGNIZERS[protocol].places(fields);
}
