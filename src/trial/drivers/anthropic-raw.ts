import type * as anthropic from '@anthropic-ai/sdk';
import { load } from '../npm-package.js';
import { tell } from './tell.js';

/** `@anthropic-ai/sdk`: Messages, read event by event. */
await tell(async ({ baseURL, apiKey, prompt, retries }, got) => {
  const { Anthropic } = await load<typeof anthropic>('@anthropic-ai/sdk');
  const client = new Anthropic({ baseURL, apiKey, ...retries });
  const messages = [{ role: 'user' as const, content: prompt }];
  const asked = { model: 'claude-haiku-4-5', max_tokens: 4096, messages, stream: true as const };
  for await (const event of await client.messages.create(asked)) {
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') got.text += event.delta.text;
    if (event.type === 'message_delta') got.finish = event.delta.stop_reason;
  }
});
