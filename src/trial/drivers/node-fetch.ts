import { tell } from './tell.js';

/** Node's own `fetch`, and the few lines that people write around it: Chat Completions up to the end of the body. */
await tell(async ({ baseURL, apiKey, prompt }, got) => {
  const response = await fetch(`${baseURL}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: 'gpt-5.4', stream: true, messages: [{ role: 'user', content: prompt }] }),
  });
  if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of response.body) {
    rest += decoder.decode(bytes, { stream: true });
    const events = rest.split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = event.replace(/^data: /, '');
      if (data === '[DONE]') continue;
      const { choices, error } = JSON.parse(data) as ChatChunk;
      if (error) throw new Error(error.message);
      got.text += choices?.[0]?.delta.content ?? '';
      got.finish = choices?.[0]?.finish_reason ?? got.finish;
    }
  }
});

interface ChatChunk {
  readonly choices?: readonly {
    readonly delta: { readonly content?: string };
    readonly finish_reason: string | null;
  }[];
  readonly error?: { readonly message: string };
}
