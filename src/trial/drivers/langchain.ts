import type * as langchain from '@langchain/openai';
import { load } from '../npm-package.js';
import { tell } from './tell.js';

/** `@langchain/openai`: `stream` over Chat Completions, or over Responses where the last argument says so. */
await tell(async ({ baseURL, apiKey, prompt, retries }, got) => {
  const { ChatOpenAI } = await load<typeof langchain>('@langchain/openai');
  const useResponsesApi = process.argv[5] === 'responses';
  const configuration = { baseURL: `${baseURL}/v1` };
  const model = new ChatOpenAI({ model: 'gpt-5.4', apiKey, useResponsesApi, configuration, ...retries });
  for await (const chunk of await model.stream(prompt)) {
    got.text += chunk.text;
    const { finish_reason: reason, incomplete_details: incomplete, status } = chunk.response_metadata as Metadata;
    got.finish = reason ?? incomplete?.reason ?? status ?? got.finish;
  }
});

interface Metadata {
  readonly finish_reason?: string;
  readonly incomplete_details?: { readonly reason?: string } | null;
  readonly status?: string;
}
