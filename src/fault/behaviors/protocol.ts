import type { ErrorKind } from '../../sse/dialect.js';
import type { Answer } from '../spec-answer.js';
import { NONE, PARTIAL, type Rows, SUCCESS, turn } from './row.js';

function httpError(error: ErrorKind, message: string): Answer {
  return { kind: 'http_error', error, message };
}

/** The provider's protocol: ends that aren't, events that are none, errors. */
export const PROTOCOL = {
  stream_eof: {
    layer: 'protocol',
    meaning: 'a correct HTTP end after the first event',
    fault: { answer: turn(SUCCESS), cut: { at: 'event:1', teardown: 'eof' } },
  },
  partial_eof: {
    layer: 'protocol',
    meaning: 'a correct HTTP end after the deltas of partialText: no finish, no terminal',
    weight: 1,
    fault: { answer: turn(PARTIAL), cut: { at: 'deltas', teardown: 'eof' } },
  },
  no_finish: {
    layer: 'protocol',
    meaning: 'all of the text, then a correct HTTP end: no finish, no terminal',
    fault: { answer: turn(SUCCESS), cut: { at: 'deltas', teardown: 'eof' } },
  },
  no_terminal: {
    layer: 'protocol',
    meaning: "everything but the protocol's last word ([DONE], response.completed, message_stop)",
    fault: { answer: turn(SUCCESS), cut: { at: 'terminator', teardown: 'eof' } },
  },
  terminal_missing: {
    layer: 'protocol',
    meaning: 'as no_terminal, with what stands behind it',
    fault: { events: [{ op: 'omit', where: { role: 'terminal' } }] },
  },
  terminal_early: {
    layer: 'protocol',
    meaning: "the protocol's last word comes before the text",
    fault: { events: [{ op: 'move', where: { role: 'terminal' }, before: { role: 'delta' } }] },
  },
  data_after_terminal: {
    layer: 'protocol',
    meaning: "a delta comes once more behind the protocol's last word",
    fault: {
      events: [
        { op: 'duplicate', where: { role: 'delta', nth: 1 } },
        { op: 'move', where: { role: 'delta', nth: 1 }, after: { role: 'terminal' } },
      ],
    },
  },
  stream_error: {
    layer: 'protocol',
    meaning: "partialText, then the provider's error inside the stream",
    fault: { answer: turn(PARTIAL), events: [{ op: 'end_after_deltas' }, { op: 'insert', event: 'stream_error' }] },
  },
  error_after_200: {
    layer: 'protocol',
    meaning: "the provider's error inside the stream, before any text",
    fault: {
      events: [
        { op: 'keep', where: { role: 'open' } },
        { op: 'insert', event: 'stream_error' },
      ],
    },
  },
  duplicate_open: {
    layer: 'protocol',
    meaning: 'the first event comes twice',
    fault: { answer: turn(SUCCESS), events: [{ op: 'duplicate', where: { nth: 1 } }] },
  },
  foreign_terminal: {
    layer: 'protocol',
    meaning: "another protocol's last word instead of the own one",
    fault: {
      answer: turn(SUCCESS),
      events: [
        { op: 'omit', where: { role: 'terminal' } },
        { op: 'insert', event: 'foreign_terminal' },
      ],
    },
  },
  malformed_json: {
    layer: 'protocol',
    meaning: 'an event whose data is {not-json, then the terminal',
    weight: 1,
    fault: {
      answer: turn(NONE),
      events: [
        { op: 'keep', where: { role: ['open', 'terminal'] } },
        { op: 'insert', event: 'malformed_json', before: { role: 'terminal' } },
      ],
    },
  },
  malformed_event: {
    layer: 'protocol',
    meaning: 'an event with null where the dialect has an object, then the terminal',
    fault: {
      answer: turn(NONE),
      events: [
        { op: 'keep', where: { role: ['open', 'terminal'] } },
        { op: 'insert', event: 'malformed_event', before: { role: 'terminal' } },
      ],
    },
  },
  html_200: { layer: 'status', meaning: 'a web page under HTTP 200', fault: { answer: { kind: 'html' } } },
  json_error_200: {
    layer: 'status',
    meaning: "the provider's error object under HTTP 200",
    fault: { answer: { kind: 'json_error' } },
  },

  rate_limit: {
    layer: 'status',
    meaning: 'HTTP 429 with retry-after',
    weight: 5,
    fault: { answer: httpError('rate_limit', 'mock rate limit') },
  },
  server_error: {
    layer: 'status',
    meaning: 'HTTP 500',
    weight: 4,
    fault: { answer: httpError('server_error', 'mock server error') },
  },
  service_unavailable: {
    layer: 'status',
    meaning: 'HTTP 503',
    weight: 2,
    fault: { answer: httpError('service_unavailable', 'mock service unavailable') },
  },
  overloaded: {
    layer: 'status',
    meaning: 'HTTP 529 (Anthropic) or 503',
    fault: { answer: httpError('overloaded', 'mock overloaded') },
  },
  auth_error: {
    layer: 'status',
    meaning: 'HTTP 401',
    fault: { answer: httpError('auth_error', 'mock authentication failed') },
  },
  invalid_request: {
    layer: 'status',
    meaning: 'HTTP 400',
    fault: { answer: httpError('invalid_request', 'mock invalid request') },
  },
  context_overflow: {
    layer: 'status',
    meaning: 'HTTP 400 context_length_exceeded',
    fault: { answer: httpError('context_overflow', 'mock input exceeds the model context window') },
  },
  quota_exceeded: {
    layer: 'status',
    meaning: 'HTTP 429 insufficient_quota, without retry-after',
    fault: { answer: httpError('quota_exceeded', 'mock insufficient quota') },
  },
} satisfies Rows;
