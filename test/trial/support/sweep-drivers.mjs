/** What came of an answer, and whether the connection broke. */
export async function answerOf({ baseURL, key, prompt }) {
  const got = { text: '', done: false, broken: false };
  try {
    const response = await fetch(`${baseURL}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'gpt-5.4', stream: true, messages: [{ role: 'user', content: prompt }] }),
    });
    const decoder = new TextDecoder();
    let rest = '';
    for await (const bytes of response.body) {
      rest += decoder.decode(bytes, { stream: true });
      const events = rest.split('\n\n');
      rest = events.pop();
      for (const event of events) {
        const data = event.replace(/^data: /, '');
        if (data === '[DONE]') got.done = true;
        else got.text += JSON.parse(data).choices[0]?.delta.content ?? '';
      }
    }
  } catch {
    got.broken = true;
  }
  return got;
}
