import { expect, it } from 'vitest';
import { CHUNK_SIZE, textOf } from '../../bench/harness/answer.js';
import { listening } from '../../bench/harness/bare-servers.js';
import { fetchAnswer } from '../../bench/harness/servers.js';
import { piecesOf, wheelOf } from '../../bench/harness/wheel.js';
import { startFaultServer } from '../../src/index.js';

const DELTAS = 4;

async function answerOf(): Promise<Buffer> {
  await using server = await startFaultServer({ successText: textOf(DELTAS), chunkSize: CHUNK_SIZE });
  return await fetchAnswer(server.port);
}

it('is cut where a server pauses: the head with the first delta, each further delta, what is behind the last', async () => {
  const answer = await answerOf();
  const pieces = piecesOf(answer, DELTAS);
  expect(Buffer.concat(pieces)).toEqual(answer);
  const contents = pieces.map((piece) => piece.toString('utf8').match(/"content":"[^"]+"/g)?.length ?? 0);
  expect(contents).toEqual([1, 1, 1, 1, 0]);
});

it('writes all pieces in order, to several at once', async () => {
  const answer = await answerOf();
  const port = await listening(wheelOf(piecesOf(answer, DELTAS), 1));
  const answers = await Promise.all([fetchAnswer(port), fetchAnswer(port), fetchAnswer(port)]);
  for (const one of answers) expect(one).toEqual(answer);
});
