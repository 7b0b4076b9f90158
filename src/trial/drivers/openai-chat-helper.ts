import type * as openai from 'openai';
import { load } from '../npm-package.js';
import { tell } from './tell.js';

/** `openai`: Chat Completions through the SDK's own reader of streams. */
await tell(async ({ baseURL, apiKey, prompt, retries }, got) => {
  const { OpenAI } = await load<typeof openai>('openai');
  const client = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey, ...retries });
  const messages = [{ role: 'user' as const, content: prompt }];
  const stream = client.chat.completions.stream({ model: 'gpt-5.4', messages });
  stream.on('content', (delta) => {
    got.text += delta;
  });
  got.finish = (await stream.finalChatCompletion()).choices[0]?.finish_reason ?? null;
});
