import { answerOf } from './sweep-drivers.mjs';

/** Asks again until it has the terminal, and shows that answer alone. */
export async function ask(context) {
  for (let n = 0; n < 3; n++) {
    const { text, done } = await answerOf(context);
    if (done) return { text, finish: 'stop' };
  }
  throw new Error('three times');
}
