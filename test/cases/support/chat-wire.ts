/** Chunks of a chat as they are on the wire, ids and times made the same. */
export function chunkOf(fields: object): string {
  const shell = {
    id: 'chatcmpl-ID',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'mock-model',
    system_fingerprint: null,
  };
  return `data: ${JSON.stringify({ ...shell, ...fields })}\n\n`;
}

/** A chunk of one choice. */
export function chunk(delta: unknown, finish: string | null = null): string {
  return chunkOf({ choices: [{ index: 0, delta, finish_reason: finish }] });
}

export const DONE = 'data: [DONE]\n\n';

/** A healthy answer up to its `[DONE]`: who speaks, the text in three pieces, the finish. */
export const TEXT_CHUNKS: readonly string[] = [
  chunk({ role: 'assistant', content: '', refusal: null }),
  chunk({ content: 'mock res' }),
  chunk({ content: 'ponse re' }),
  chunk({ content: 'covered' }),
  chunk({}, 'stop'),
];

/** A piece of a tool call; what is `undefined` isn't there. */
export function toolPiece(call: object, rest: object = {}): string {
  return chunk({ ...rest, tool_calls: [call] });
}
