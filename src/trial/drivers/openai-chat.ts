import type * as openai from 'openai';
import { load } from '../npm-package.js';
import { tell } from './tell.js';

/** `openai`: Chat Completions, read event by event. */
await tell(async ({ baseURL, apiKey, prompt, retries }, got) => {
  const { OpenAI } = await load<typeof openai>('openai');
  const client = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey, ...retries });
  const messages = [{ role: 'user' as const, content: prompt }];
  const stream = await client.chat.completions.create({ model: 'gpt-5.4', messages, stream: true });
  for await (const chunk of stream) {
    got.text += chunk.choices[0]?.delta.content ?? '';
    got.finish = chunk.choices[0]?.finish_reason ?? got.finish;
  }
});
