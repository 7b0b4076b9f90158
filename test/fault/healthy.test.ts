import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/index.js';
import { FIDELITIES, KEY_ORDERS, PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { headerOf, readAnswer } from '../support/http.js';
import { planner } from '../support/plans.js';
import { judge, type RefereeProtocol } from '../support/referee.js';

/** Each dialect × each healthy behavior × both fidelities × both key orders: the referee accepts it, with its terminal. */
type Terminals = Readonly<Record<Protocol, string>>;

const stop: Terminals = { 'openai-chat': 'stop', 'openai-responses': 'completed', 'anthropic-messages': 'end_turn' };
const limit: Terminals = {
  'openai-chat': 'length',
  'openai-responses': 'incomplete:max_output_tokens',
  'anthropic-messages': 'max_tokens',
};
const tools: Terminals = {
  'openai-chat': 'tool_calls',
  'openai-responses': 'completed',
  'anthropic-messages': 'tool_use',
};

const HEALTHY: Partial<Record<ConcreteBehaviorName, Terminals>> = {
  success: stop,
  slow_success: stop,
  reasoning_success: stop,
  empty: stop,
  keepalive_then_success: stop,
  terminal_no_close: stop,
  wrong_content_type: stop,
  tool_call_success: tools,
  parallel_tool_calls: tools,
  max_tokens: limit,
  tool_call_truncated: limit,
  content_filter: {
    'openai-chat': 'content_filter',
    'openai-responses': 'incomplete:content_filter',
    'anthropic-messages': 'refusal',
  },
  refusal: { 'openai-chat': 'stop', 'openai-responses': 'completed', 'anthropic-messages': 'refusal' },
  stream_error: {
    'openai-chat': 'error',
    'openai-responses': 'failed:server_error',
    'anthropic-messages': 'error:overloaded_error',
  },
};

/** OpenAI's Chat shows no reasoning and has no keep-alive, so there the rules of those who do hold. */
function refereeFor(protocol: Protocol, behavior: string): RefereeProtocol {
  if (protocol === 'openai-responses') return 'openai-responses';
  if (protocol === 'anthropic-messages') return 'anthropic';
  if (behavior === 'reasoning_success') return 'deepseek-chat';
  return behavior === 'keepalive_then_success' ? 'compat-chat' : 'openai-chat';
}

const BODY = {
  max_tokens: 77,
  max_output_tokens: 77,
  stream_options: { include_usage: true },
  instructions: 'Be brief — “brief”.',
  tools: [{ type: 'function', name: 'mock_tool', parameters: { type: 'object', properties: {} } }],
};

describe.each(PROTOCOLS)('%s', (protocol) => {
  for (const [name, terminals] of Object.entries(HEALTHY)) {
    const behavior = name as ConcreteBehaviorName;
    it(`${name} ends in ${terminals[protocol]} whatever the fidelity and the order of keys`, () => {
      for (const fidelity of FIDELITIES) {
        for (const keyOrder of KEY_ORDERS) {
          const plan = planner({ fidelity, keyOrder })(behavior, protocol, { body: BODY });
          const body = readAnswer(plan.bytes)?.body ?? Buffer.alloc(0);
          const verdict = judge(refereeFor(protocol, name), body, { expect: [terminals[protocol]] });
          expect(verdict.errors).toEqual([]);
        }
      }
    });
  }

  it('text of any script in deltas of any size', () => {
    for (const chunkSize of [1, 3, 1000]) {
      const successText = 'Zażółć gęślą jaźń 👩‍👩‍👧‍👦 "quoted" \\ back\nline \u2028 日本語テキスト';
      const plan = planner({ successText, chunkSize })('success', protocol);
      const body = readAnswer(plan.bytes)?.body ?? Buffer.alloc(0);
      expect(judge(refereeFor(protocol, 'success'), body, { expect: [stop[protocol]] }).errors).toEqual([]);
    }
  });
});

describe('variants of Chat Completions', () => {
  for (const name of [
    'success',
    'reasoning_success',
    'tool_call_success',
    'parallel_tool_calls',
    'max_tokens',
  ] as const) {
    it(`${name} is DeepSeek's for its models and when it is asked for`, () => {
      const plans = [
        planner()(name, 'openai-chat', { body: { model: 'deepseek-v4-flash' } }),
        planner({ chatVariant: 'deepseek' })(name, 'openai-chat'),
        planner({ chatVariant: 'deepseek', fidelity: 'plain' })(name, 'openai-chat'),
      ];
      for (const plan of plans) {
        const answer = readAnswer(plan.bytes);
        expect(answer && headerOf(answer, 'x-ds-trace-id')).toMatch(/^[0-9a-f]{32}$/);
        const verdict = judge('deepseek-chat', answer?.body ?? Buffer.alloc(0));
        expect(verdict).toMatchObject({ ok: true, terminal: HEALTHY[name]?.['openai-chat'] });
      }
    });
  }

  it("OpenAI's own shows reasoning only in the usage", () => {
    const body = { stream_options: { include_usage: true } };
    const plan = planner({ chatVariant: 'openai' })('reasoning_success', 'openai-chat', { body });
    const answer = readAnswer(plan.bytes);
    expect(judge('openai-chat', answer?.body ?? Buffer.alloc(0), { expect: ['stop'] }).errors).toEqual([]);
    expect(answer?.body.toString()).toContain('"reasoning_tokens":4');
  });

  it('a call of the one tool that the request names ends with stop', () => {
    const body = { tool_choice: { type: 'function', function: { name: 'mock_tool' } } };
    const answer = readAnswer(planner()('tool_call_success', 'openai-chat', { body }).bytes);
    expect(judge('openai-chat', answer?.body ?? Buffer.alloc(0), { expect: ['stop'] }).errors).toEqual([]);
  });
});

describe('gzip', () => {
  const offered = { 'accept-encoding': 'gzip, deflate' };

  it("is Anthropic's when it is offered: the same events after decompression", () => {
    const answer = readAnswer(planner()('success', 'anthropic-messages', { headers: offered }).bytes);
    expect(answer && headerOf(answer, 'content-encoding')).toBe('gzip');
    const body = gunzipSync(answer?.body ?? Buffer.alloc(0));
    expect(judge('anthropic', body, { expect: ['end_turn'] }).errors).toEqual([]);
  });

  it('is used by nobody else, nor when it is refused, nor in plain answers', () => {
    const plans = [
      planner()('success', 'openai-chat', { headers: offered }),
      planner()('success', 'openai-responses', { headers: offered }),
      planner()('success', 'anthropic-messages'),
      planner()('success', 'anthropic-messages', { headers: { 'accept-encoding': 'gzip;q=0, br' } }),
      planner({ fidelity: 'plain' })('success', 'anthropic-messages', { headers: offered }),
    ];
    for (const plan of plans) {
      const answer = readAnswer(plan.bytes);
      expect(answer && headerOf(answer, 'content-encoding')).toBeUndefined();
    }
  });

  it('a clean end in the middle is a whole gzip stream of the events before it', () => {
    const answer = readAnswer(planner()('partial_eof', 'anthropic-messages', { headers: offered }).bytes);
    const body = gunzipSync(answer?.body ?? Buffer.alloc(0));
    expect(judge('anthropic', body, { allowTruncated: true })).toMatchObject({ ok: true, terminal: 'truncated' });
  });
});
