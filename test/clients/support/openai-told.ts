import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
import type { Call, Told } from './sdk.js';

/** Answers of the two OpenAI APIs as `Told`: one reader for the pieces of a stream, one for whole answers. */
interface Reader<Piece> {
  take(piece: Piece): void;
  told(): Told;
}

/** DeepSeek's field, which the SDK passes on without a type. */
function reasoningOf(message: object): string {
  return 'reasoning_content' in message && typeof message.reasoning_content === 'string'
    ? message.reasoning_content
    : '';
}

export function chatReader(): Reader<ChatCompletionChunk> {
  const said = { text: '', reasoning: '', refusal: '' };
  const calls: Call[] = [];
  let finish: string | null = null;
  return {
    take: (chunk) => {
      const choice = chunk.choices[0];
      if (!choice) return;
      said.text += choice.delta.content ?? '';
      said.refusal += choice.delta.refusal ?? '';
      said.reasoning += reasoningOf(choice.delta);
      for (const { index, function: piece } of choice.delta.tool_calls ?? []) {
        const before = calls[index] ?? { name: '', arguments: '' };
        calls[index] = {
          name: before.name + (piece?.name ?? ''),
          arguments: before.arguments + (piece?.arguments ?? ''),
        };
      }
      finish = choice.finish_reason ?? finish;
    },
    told: () => ({ ...said, calls, finish }),
  };
}

export function chatTold(completion: ChatCompletion): Told {
  const [choice, ...others] = completion.choices;
  if (!choice || others.length > 0) throw new Error(`${completion.choices.length} choices`);
  const { message } = choice;
  return {
    text: message.content ?? '',
    reasoning: reasoningOf(message),
    refusal: message.refusal ?? '',
    calls: (message.tool_calls ?? []).flatMap((call) =>
      call.type === 'function' ? [{ name: call.function.name, arguments: call.function.arguments }] : [],
    ),
    finish: choice.finish_reason,
  };
}

/** Reads the deltas, not what later events repeat of them. */
export function responsesReader(): Reader<ResponseStreamEvent> {
  const said = { text: '', reasoning: '', refusal: '' };
  const calls = new Map<number, Call>();
  let finish: string | null = null;
  return {
    take: (event) => {
      if (event.type === 'response.output_text.delta') said.text += event.delta;
      if (event.type === 'response.refusal.delta') said.refusal += event.delta;
      if (event.type === 'response.reasoning_summary_text.delta') said.reasoning += event.delta;
      if (event.type === 'response.output_item.added' && event.item?.type === 'function_call') {
        calls.set(event.output_index, { name: event.item.name, arguments: '' });
      }
      if (event.type === 'response.function_call_arguments.delta') {
        const before = calls.get(event.output_index) ?? { name: '', arguments: '' };
        calls.set(event.output_index, { ...before, arguments: before.arguments + event.delta });
      }
      if (event.type === 'response.completed') finish = 'completed';
      if (event.type === 'response.incomplete') finish = event.response.incomplete_details?.reason ?? null;
    },
    told: () => ({ ...said, calls: [...calls.values()], finish }),
  };
}

export function responsesTold(response: Response): Told {
  const said = { text: '', reasoning: '', refusal: '' };
  const calls: Call[] = [];
  for (const item of response.output) {
    if (item.type === 'reasoning') said.reasoning += item.summary.map(({ text }) => text).join('');
    if (item.type === 'function_call') calls.push({ name: item.name, arguments: item.arguments });
    if (item.type !== 'message') continue;
    for (const part of item.content) {
      if (part.type === 'refusal') said.refusal += part.refusal;
      else said.text += part.text;
    }
  }
  return { ...said, calls, finish: response.incomplete_details?.reason ?? response.status ?? null };
}
