import { expect } from 'vitest';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { judge, judgeByCommand, type RefereeProtocol } from './referee.js';

/** What the referee says of a stream's body: accepted with a terminal, or the broken rules. */
export type Verdict =
  | { readonly accepted: string }
  | {
      readonly broken: readonly string[];
      /** Whether it is accepted as a stream that was cut. */
      readonly truncated: boolean;
    };

export type Verdicts = Readonly<Record<Protocol, Verdict>>;

export const PATHS: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
};

const REFEREES: Readonly<Record<Protocol, RefereeProtocol>> = {
  'openai-chat': 'openai-chat',
  'openai-responses': 'openai-responses',
  'anthropic-messages': 'anthropic',
};

export const per = (chat: Verdict, responses: Verdict, messages: Verdict): Verdicts => ({
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
});

export const accepted = (chat: string, responses: string, messages: string): Verdicts =>
  per({ accepted: chat }, { accepted: responses }, { accepted: messages });

export const broken = (rules: readonly (readonly string[])[], truncated = false): Verdicts => {
  const [chat = [], responses = [], messages = []] = rules;
  return per({ broken: chat, truncated }, { broken: responses, truncated }, { broken: messages, truncated });
};

export const stop = accepted('stop', 'completed', 'end_turn');
export const tools = accepted('tool_calls', 'completed', 'tool_use');
export const limit = accepted('length', 'incomplete:max_output_tokens', 'max_tokens');
export const failed = accepted('error', 'failed:server_error', 'error:overloaded_error');
export const truncated = broken([['chat.truncated'], ['resp.truncated'], ['msg.truncated']], true);
export const nothing = broken([['chat.empty'], ['resp.truncated'], ['msg.truncated']], true);

/** What is broken besides, in each protocol. */
export const alsoBroken = (rules: readonly string[], verdicts: Verdicts, isTruncated = false): Verdicts => {
  const [chat, responses, messages] = PROTOCOLS.map((protocol): Verdict => {
    const verdict = verdicts[protocol];
    return { broken: [...rules, ...('broken' in verdict ? verdict.broken : [])], truncated: isTruncated };
  });
  if (!chat || !responses || !messages) throw new Error('there are three protocols');
  return per(chat, responses, messages);
};

export function expectVerdict(protocol: Protocol, body: Buffer, verdict: Verdict): void {
  const referee = REFEREES[protocol];
  if ('accepted' in verdict) {
    expect(judge(referee, body, { expect: [verdict.accepted] }).errors).toEqual([]);
    return;
  }
  // The referee itself fails where no rule is named.
  if (verdict.broken.length === 0) expect(judgeByCommand(referee, body).code).toBe(1);
  else {
    const { rules } = judge(referee, body);
    const { ok } = judge(referee, body, { allowTruncated: true });
    expect({ rules, truncated: ok }).toEqual({ rules: verdict.broken, truncated: verdict.truncated });
  }
}
