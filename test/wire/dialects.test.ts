import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/index.js';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import type { InDialects } from '../support/behaviors.js';
import { isJson } from '../support/exchange.js';
import { type Answer, headerOf, readAnswer } from '../support/http.js';
import { serve } from '../support/server.js';
import {
  accepted,
  broken,
  expectVerdict,
  failed,
  limit,
  nothing,
  PATHS,
  per,
  stop,
  tools,
  truncated,
  type Verdicts,
} from '../support/verdicts.js';
import { post, type WireEnd, witness } from '../support/witness.js';

/**
 * Every behavior that leaves the layers below the protocol's events alone, in every protocol at real sockets, for
 * requests that stream and for those that don't. The others are in the files of their layers, whose types have all that
 * are missing here, so that a new one can't be forgotten.
 */
interface Row {
  readonly end: WireEnd | 'open';
  readonly complete: boolean;
  readonly status: number;
  readonly stream: Verdicts | 'not a stream';
  /** The JSON body for a request that doesn't stream: whole JSON, cut JSON, or as text. */
  readonly json: 'whole' | 'cut' | 'none' | RegExp;
}

const healthy = { end: 'fin', complete: true, status: 200, stream: stop, json: 'whole' } as const;
const eof = { end: 'fin', complete: true, status: 200, stream: truncated, json: 'cut' } as const;
const rst = { end: 'rst', complete: false, status: 200, stream: truncated, json: 'cut' } as const;
const open = { end: 'open', complete: false, status: 200 } as const;
const http = (status: number) => ({ ...healthy, status, stream: 'not a stream' }) as const;

const TABLE: Record<InDialects, Row> = {
  success: healthy,
  slow_success: healthy,
  // OpenAI's own rules forbid reasoning_content and comments; that DeepSeek's accept them is tested elsewhere.
  reasoning_success: {
    ...healthy,
    stream: per(
      { broken: ['chat.reasoning', 'chat.usage', 'chat.finish'], truncated: false },
      stop['openai-responses'],
      stop['anthropic-messages'],
    ),
  },
  keepalive_then_success: {
    ...healthy,
    stream: per({ broken: ['wire.comment'], truncated: false }, stop['openai-responses'], stop['anthropic-messages']),
  },
  tool_call_success: { ...healthy, stream: tools },
  parallel_tool_calls: { ...healthy, stream: tools },
  max_tokens: { ...healthy, stream: limit },
  tool_call_truncated: { ...healthy, stream: limit },
  content_filter: { ...healthy, stream: accepted('content_filter', 'incomplete:content_filter', 'refusal') },
  refusal: { ...healthy, stream: accepted('stop', 'completed', 'refusal') },
  empty: healthy,
  wrong_content_type: healthy,

  stream_disconnect: { ...rst, stream: nothing, json: 'none' },
  partial_disconnect: rst,
  stall: { ...open, stream: nothing, json: 'none' },
  ping_flood: {
    ...open,
    stream: per(
      { broken: ['wire.comment', 'chat.empty'], truncated: false },
      { broken: ['resp.truncated'], truncated: true },
      { broken: ['msg.truncated'], truncated: true },
    ),
    json: /^\n{4,}$/,
  },
  terminal_no_close: { ...open, stream: stop, json: 'whole' },

  empty_body: { ...eof, stream: nothing, json: 'none' },
  stream_eof: eof,
  partial_eof: eof,
  no_finish: eof,
  no_terminal: eof,

  stream_error: { ...healthy, stream: failed },
  duplicate_open: { ...healthy, stream: broken([['chat.role'], ['resp.order'], ['msg.order']]), json: 'cut' },
  foreign_terminal: {
    ...healthy,
    stream: broken([
      [
        'wire.event',
        'chat.object',
        'chat.id',
        'chat.created',
        'chat.model',
        'chat.constant',
        'chat.choices',
        'chat.truncated',
      ],
      ['resp.done', 'resp.truncated'],
      ['msg.done', 'msg.truncated'],
    ]),
    json: 'cut',
  },
  malformed_json: {
    ...healthy,
    stream: broken([
      ['json', 'chat.empty'],
      ['json', 'resp.seq', 'resp.output'],
      ['json', 'msg.order'],
    ]),
    json: /^\{not-json$/,
  },
  // The referee itself fails on `choices: [null]`.
  malformed_event: { ...healthy, stream: broken([[], ['resp.item', 'resp.output'], ['msg.block', 'msg.order']]) },
  html_200: { ...http(200), json: /^<!doctype html>/ },
  json_error_200: http(200),

  rate_limit: http(429),
  server_error: http(500),
  service_unavailable: http(503),
  overloaded: http(503),
  auth_error: http(401),
  invalid_request: http(400),
  context_overflow: http(400),
  quota_exceeded: http(429),
};

/** Where Anthropic answers with another status. */
const ANTHROPIC_STATUS: Partial<Record<ConcreteBehaviorName, number>> = { overloaded: 529, quota_exceeded: 400 };

interface Seen {
  readonly answer: Answer;
  readonly end: WireEnd | 'open';
}

async function see(behavior: ConcreteBehaviorName, row: Row, protocol: Protocol, stream: boolean): Promise<Seen> {
  const server = await serve({ sequence: [behavior], chunkDelayMs: 1, keepaliveMs: 1, disconnectDelayMs: 20 });
  const client = witness(server.port);
  const limits = protocol === 'openai-responses' ? { max_output_tokens: 77 } : { max_tokens: 77 };
  client.send(post(PATHS[protocol], { stream, model: 'mock-model', ...limits }, { Connection: 'close' }));
  if (row.end === 'open') {
    // The answer is left open: what shall have come is waited for.
    await client.until((bytes) => {
      const body = readAnswer(bytes)?.body.toString();
      if (body === undefined) return false;
      if (behavior === 'stall') return true;
      if (behavior === 'ping_flood') return (body.match(/keep-?alive\b|ping\b|^\n/gm) ?? []).length >= 4;
      return stream
        ? /\[DONE\]|"response\.completed"|"message_stop"/.test(body) && body.endsWith('\n\n')
        : isJson(body);
    });
  } else await client.ended;
  const end = row.end === 'open' ? 'open' : await client.ended;
  const answer = readAnswer(client.received);
  client.close();
  if (!answer) throw new Error(`no head in ${client.received.length} bytes`);
  return { answer, end };
}

describe.each(PROTOCOLS)('%s', (protocol) => {
  for (const [name, row] of Object.entries(TABLE)) {
    const behavior = name as ConcreteBehaviorName;
    const status = (protocol === 'anthropic-messages' && ANTHROPIC_STATUS[behavior]) || row.status;

    it(`${name}, streamed`, async () => {
      const { answer, end } = await see(behavior, row, protocol, true);
      expect({ end, status: answer.status, complete: answer.complete }).toEqual({
        end: row.end,
        status,
        complete: row.complete,
      });
      if (row.stream === 'not a stream') {
        expect(headerOf(answer, 'content-type')).not.toContain('event-stream');
      } else expectVerdict(protocol, answer.body, row.stream[protocol]);
    });

    it(`${name}, as a JSON body`, async () => {
      const { answer, end } = await see(behavior, row, protocol, false);
      expect({ end, status: answer.status, complete: answer.complete }).toEqual({
        end: row.end,
        status,
        complete: row.complete,
      });
      const body = answer.body.toString();
      if (row.json === 'none') expect(body).toBe('');
      else if (row.json instanceof RegExp) expect(body).toMatch(row.json);
      else expect(body !== '' && isJson(body)).toBe(row.json === 'whole');
    });
  }
});
