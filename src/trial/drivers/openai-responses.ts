import type * as openai from 'openai';
import { load } from '../npm-package.js';
import { tell } from './tell.js';

/** `openai`: Responses, read event by event. */
await tell(async ({ baseURL, apiKey, prompt, retries }, got) => {
  const { OpenAI } = await load<typeof openai>('openai');
  const client = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey, ...retries });
  for await (const event of await client.responses.create({ model: 'gpt-5.4', input: prompt, stream: true })) {
    if (event.type === 'response.output_text.delta') got.text += event.delta;
    if (event.type === 'response.completed' || event.type === 'response.incomplete') {
      got.finish = event.response.incomplete_details?.reason ?? event.response.status ?? null;
    }
    if (event.type === 'error') got.error = event.message;
    if (event.type === 'response.failed') got.error = event.response.error?.message ?? event.type;
  }
});
