import type { AnswerFault, FaultSpec, TurnShape } from './spec.js';

/**
 * The behaviors: one row each. Docs, `wirefault behaviors`, validation and `random` read this table;
 * to add a behavior is to add a row.
 */
interface Row {
  /** One line for people. */
  readonly meaning: string;
  /** Share in `random`'s default draw; absent for 0. */
  readonly weight?: number;
  readonly fault: FaultSpec;
}

const SUCCESS: TurnShape = { text: 'success', finish: 'stop' };
const PARTIAL: TurnShape = { text: 'partial', finish: 'stop' };
const NONE: TurnShape = { text: 'none', finish: 'stop' };

function told(turn: TurnShape, rest: Omit<AnswerFault, 'kind' | 'answer'> = {}): AnswerFault {
  return { kind: 'answer', answer: { kind: 'turn', turn }, ...rest };
}

function httpError(error: (AnswerFault['answer'] & { kind: 'http_error' })['error'], message: string): AnswerFault {
  return { kind: 'answer', answer: { kind: 'http_error', error, message } };
}

const TABLE = {
  success: { meaning: 'a whole, healthy answer', weight: 48, fault: told(SUCCESS) },
  slow_success: {
    meaning: 'a whole answer, chunkDelayMs after each delta',
    weight: 10,
    fault: told(SUCCESS, { pace: 'deltas' }),
  },
  reasoning_success: {
    meaning: 'a whole answer after reasoning deltas',
    fault: told({ ...SUCCESS, reasoning: true }),
  },
  tool_call_success: {
    meaning: 'a tool call in two argument pieces, finish tool_calls',
    fault: told({ text: 'none', toolCalls: 1, finish: 'tool_calls' }),
  },
  max_tokens: {
    meaning: 'a whole answer that says it was cut by the token limit',
    weight: 2,
    fault: told({ text: 'success', finish: 'length' }),
  },
  parallel_tool_calls: {
    meaning: 'two tool calls in one turn',
    fault: told({ text: 'none', toolCalls: 2, finish: 'tool_calls' }),
  },
  tool_call_truncated: {
    meaning: "a tool call whose arguments the token limit cut: half a JSON object, and the limit's finish",
    fault: told({ text: 'none', toolCalls: 1, halfToolCall: true, finish: 'length' }),
  },
  content_filter: {
    meaning: "partialText, then the finish of the provider's content filter",
    fault: told({ text: 'partial', finish: 'content_filter' }),
  },
  refusal: {
    meaning: 'the model refuses, in the field or with the stop reason that the provider has for it',
    fault: told({ text: 'none', refusal: true, finish: 'refusal' }),
  },
  keepalive_then_success: {
    meaning: 'keepaliveCount keep-alives every keepaliveMs, then a whole answer',
    fault: told(SUCCESS, {
      edits: [{ op: 'insert', event: 'keepalive', before: 'start', times: 'keepaliveCount' }],
      pace: 'keepalives',
      framing: 'chunked',
    }),
  },
  empty: { meaning: 'a valid finish without content', weight: 5, fault: told(NONE) },

  connection_refused: {
    meaning: 'the port is closed for listenDelayMs: a true TCP refusal',
    fault: { kind: 'refuse' },
  },
  connection_reset: {
    meaning: 'the request is read, then RST: no byte of an answer',
    weight: 5,
    fault: told(SUCCESS, { cut: { at: 'request', teardown: 'rst' } }),
  },
  stream_disconnect: {
    meaning: 'headers, disconnectDelayMs, RST before the first event',
    weight: 5,
    fault: told(SUCCESS, { cut: { at: 'headers', teardown: 'rst', delay: 'disconnectDelayMs' } }),
  },
  partial_disconnect: {
    meaning: 'the deltas of partialText, paced by chunkDelayMs, then disconnectDelayMs, RST',
    weight: 10,
    fault: told(PARTIAL, { pace: 'deltas', cut: { at: 'deltas', teardown: 'rst', delay: 'disconnectDelayMs' } }),
  },
  stall: {
    meaning: 'headers, then silence until the client or the server closes',
    weight: 2,
    fault: told(SUCCESS, { cut: { at: 'headers', teardown: 'stall' } }),
  },
  ping_flood: {
    meaning: 'keep-alives every keepaliveMs for ever, never progress',
    fault: told(NONE, {
      edits: [
        { op: 'keep', roles: ['open'] },
        { op: 'append', event: 'keepalive' },
      ],
      pulse: true,
      framing: 'chunked',
      cut: { at: 'events', teardown: 'stall' },
    }),
  },
  terminal_no_close: {
    meaning: 'everything is delivered, but the body is left open',
    fault: told(SUCCESS, { framing: 'chunked', cut: { at: 'events', teardown: 'stall' } }),
  },

  empty_body: {
    meaning: 'a correct HTTP end without any event',
    fault: told(SUCCESS, { cut: { at: 'headers', teardown: 'eof' } }),
  },
  stream_eof: {
    meaning: 'a correct HTTP end after the first event',
    fault: told(SUCCESS, { cut: { at: 'event:1', teardown: 'eof' } }),
  },
  partial_eof: {
    meaning: 'a correct HTTP end after the deltas of partialText: no finish, no terminal',
    weight: 1,
    fault: told(PARTIAL, { cut: { at: 'deltas', teardown: 'eof' } }),
  },
  no_finish: {
    meaning: 'all of the text, then a correct HTTP end: no finish, no terminal',
    fault: told(SUCCESS, { cut: { at: 'deltas', teardown: 'eof' } }),
  },
  no_terminal: {
    meaning: "everything but the protocol's last word ([DONE], response.completed, message_stop)",
    fault: told(SUCCESS, { cut: { at: 'terminator', teardown: 'eof' } }),
  },

  stream_error: {
    meaning: "partialText, then the provider's error inside the stream",
    fault: told(PARTIAL, { edits: [{ op: 'end_after_deltas' }, { op: 'append', event: 'stream_error' }] }),
  },
  duplicate_open: {
    meaning: 'the first event comes twice',
    fault: told(SUCCESS, { edits: [{ op: 'repeat_first' }] }),
  },
  foreign_terminal: {
    meaning: "another protocol's last word instead of the own one",
    fault: told(SUCCESS, {
      edits: [
        { op: 'drop', roles: ['terminal'] },
        { op: 'append', event: 'foreign_terminal' },
      ],
    }),
  },
  malformed_json: {
    meaning: 'an event whose data is {not-json, then the terminal',
    weight: 1,
    fault: told(NONE, {
      edits: [
        { op: 'keep', roles: ['open', 'terminal'] },
        { op: 'insert', event: 'malformed_json', before: 'terminal' },
      ],
    }),
  },
  malformed_event: {
    meaning: 'an event with null where the dialect has an object, then the terminal',
    fault: told(NONE, {
      edits: [
        { op: 'keep', roles: ['open', 'terminal'] },
        { op: 'insert', event: 'malformed_event', before: 'terminal' },
      ],
    }),
  },
  wrong_content_type: {
    meaning: 'the valid event stream under application/json (and a JSON body under text/event-stream)',
    fault: told(SUCCESS, { contentType: 'swapped' }),
  },
  html_200: { meaning: 'a web page under HTTP 200', fault: { kind: 'answer', answer: { kind: 'html' } } },
  json_error_200: {
    meaning: "the provider's error object under HTTP 200",
    fault: { kind: 'answer', answer: { kind: 'json_error' } },
  },

  rate_limit: { meaning: 'HTTP 429 with retry-after', weight: 5, fault: httpError('rate_limit', 'mock rate limit') },
  server_error: { meaning: 'HTTP 500', weight: 4, fault: httpError('server_error', 'mock server error') },
  service_unavailable: {
    meaning: 'HTTP 503',
    weight: 2,
    fault: httpError('service_unavailable', 'mock service unavailable'),
  },
  overloaded: { meaning: 'HTTP 529 (Anthropic) or 503', fault: httpError('overloaded', 'mock overloaded') },
  auth_error: { meaning: 'HTTP 401', fault: httpError('auth_error', 'mock authentication failed') },
  invalid_request: { meaning: 'HTTP 400', fault: httpError('invalid_request', 'mock invalid request') },
  context_overflow: {
    meaning: 'HTTP 400 context_length_exceeded',
    fault: httpError('context_overflow', 'mock input exceeds the model context window'),
  },
  quota_exceeded: {
    meaning: 'HTTP 429 insufficient_quota, without retry-after',
    fault: httpError('quota_exceeded', 'mock insufficient quota'),
  },

  random: { meaning: 'one of the others by weighted, seeded draw', fault: { kind: 'draw' } },
} as const satisfies Record<string, Row>;

/** Every behavior's name: the words of `sequence`. */
export type BehaviorName = keyof typeof TABLE;
/** A behavior that answers a request by itself: all but `random` and `connection_refused`. */
export type ConcreteBehaviorName = Exclude<BehaviorName, 'random' | 'connection_refused'>;

export interface Behavior extends Row {
  readonly name: BehaviorName;
}

const ROWS: Readonly<Record<BehaviorName, Row>> = TABLE;

export const BEHAVIOR_NAMES = Object.keys(TABLE) as readonly BehaviorName[];

function isConcrete(name: BehaviorName): name is ConcreteBehaviorName {
  return ROWS[name].fault.kind === 'answer';
}

export const CONCRETE_BEHAVIOR_NAMES: readonly ConcreteBehaviorName[] = BEHAVIOR_NAMES.filter(isConcrete);

/** The rows, for printing. */
export const BEHAVIORS: readonly Behavior[] = BEHAVIOR_NAMES.map((name) => ({ name, ...ROWS[name] }));

/** The fault of a behavior that answers. */
export function faultOf(name: ConcreteBehaviorName): AnswerFault {
  return TABLE[name].fault;
}

/** Relative shares of `random`: test pressure, not an estimate of how often providers fail. */
export type RandomWeights = Readonly<Partial<Record<ConcreteBehaviorName, number>>>;

export const DEFAULT_RANDOM_WEIGHTS: RandomWeights = Object.fromEntries(
  CONCRETE_BEHAVIOR_NAMES.flatMap((name) => {
    const { weight } = ROWS[name];
    return weight === undefined ? [] : [[name, weight]];
  }),
);
