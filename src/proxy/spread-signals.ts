import type { AnswerSignals } from './answer-scan.js';

const NAMES = [
  'onInformational',
  'onHead',
  'onChunk',
  'onLastChunk',
  'onBody',
  'onEventStart',
  'onEvent',
  'onEnd',
] as const satisfies readonly (keyof AnswerSignals)[];

/** One listener for many. What nobody listens to isn't told. */
export function spreadSignals(all: readonly AnswerSignals[]): AnswerSignals {
  const spread: Record<string, (...args: never[]) => void> = {};
  for (const name of NAMES) {
    const heard = all.flatMap((one) => (one[name] ? [one[name] as (...args: never[]) => void] : []));
    const [only] = heard;
    if (!only) continue;
    spread[name] =
      heard.length === 1
        ? only
        : (...args) => {
            for (const each of heard) each(...args);
          };
  }
  return spread;
}

/** Signals of bytes that lie `shift` further on the wire to the client than where they were seen. */
export function shiftedSignals(to: AnswerSignals, shift: number): AnswerSignals {
  return {
    onChunk: (chunk) =>
      to.onChunk?.({
        index: chunk.index,
        start: chunk.start + shift,
        dataStart: chunk.dataStart + shift,
        dataEnd: chunk.dataEnd + shift,
      }),
    onLastChunk: (start) => to.onLastChunk?.(start + shift),
    onBody: (bytes, start) => to.onBody?.(bytes, start + shift),
    onEventStart: (start, border) => to.onEventStart?.(start + shift, border + shift),
    onEvent: (event) =>
      to.onEvent?.({
        ...event,
        start: event.start + shift,
        end: event.end + shift,
        startBorder: event.startBorder + shift,
        endBorder: event.endBorder + shift,
        stretches: event.stretches.map(({ start, bytes }) => ({ start: start + shift, bytes })),
      }),
    onEnd: (end) => to.onEnd?.(end + shift),
  };
}
