import { answerOf } from './sweep-drivers.mjs';

/** Takes any end for the end of the answer. */
async function ask(context) {
  return { text: (await answerOf(context)).text };
}

// biome-ignore lint/style/noDefaultExport: the other way in which a driver may be exported
export { ask as default };
