/** The one request of all benches, and the text that answers it. */
const BODY = JSON.stringify({
  model: 'gpt-4o-mini',
  stream: true,
  messages: [{ role: 'user', content: 'Tell me what the weather is like today.' }],
});

export const REQUEST = Buffer.from(
  [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: 127.0.0.1',
    'User-Agent: wirefault-bench',
    'Accept: text/event-stream',
    'Content-Type: application/json',
    'Authorization: Bearer bench-key',
    `Content-Length: ${Buffer.byteLength(BODY)}`,
    '',
    BODY,
  ].join('\r\n'),
);

/** Code points in one delta, for every server. */
export const CHUNK_SIZE = 8;

/** wirefault and aimock add a role, a finish and [DONE] to the deltas, which makes 20 events; dsh has no role. */
export const DELTAS = 17;

/** A text of `deltas` deltas. */
export function textOf(deltas: number): string {
  return 'The rain in Spain stays mainly in the plain. '.repeat(deltas).slice(0, deltas * CHUNK_SIZE);
}

/** With the line end before it: a head may end in `ma=86400`, too. */
export const END_OF_ANSWER = '\r\n0\r\n\r\n';
