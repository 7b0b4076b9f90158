import { answerOf } from './sweep-drivers.mjs';

/** Wants the terminal, and is content once it has it. */
export async function ask(context) {
  const { text, done } = await answerOf(context);
  return { text, error: done ? null : 'no terminal' };
}
