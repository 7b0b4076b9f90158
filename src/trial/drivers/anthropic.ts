import type * as anthropic from '@anthropic-ai/sdk';
import { load } from '../npm-package.js';
import { tell } from './tell.js';

/** `@anthropic-ai/sdk`: Messages through the SDK's own reader of streams. */
await tell(async ({ baseURL, apiKey, prompt, retries }, got) => {
  const { Anthropic } = await load<typeof anthropic>('@anthropic-ai/sdk');
  const client = new Anthropic({ baseURL, apiKey, ...retries });
  const messages = [{ role: 'user' as const, content: prompt }];
  const stream = client.messages.stream({ model: 'claude-haiku-4-5', max_tokens: 4096, messages });
  stream.on('text', (delta) => {
    got.text += delta;
  });
  got.finish = (await stream.finalMessage()).stop_reason;
});
