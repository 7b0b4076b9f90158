import { answersOf } from './answers.js';
import { messageOf } from './errors.js';
import { type Named, onlyAttempt } from './fault/script.js';
import type { FaultSpec } from './fault/spec.js';
import { isPlayed, requestBytesOf } from './fault/stage.js';
import type { ResolvedOptions } from './options.js';
import { PROTOCOLS } from './sse/dialect.js';

/** Whether a fault names a place that an answer may lack. */
function namesAPlace({ cut, splice, pace, segments, framing }: FaultSpec): boolean {
  const chunks = framing?.chunks;
  return (
    cut !== undefined ||
    splice !== undefined ||
    pace?.pauses !== undefined ||
    pace?.gates !== undefined ||
    segments?.at !== undefined ||
    (typeof chunks === 'object' && 'at' in chunks)
  );
}

/** Longer texts take so long to compile that the start would be held up by it: 5 MB take seconds, as a stream a minute. */
const MAX_TEXT = 100_000;

function isLong({ successText, partialText = '', reasoningText, toolArguments }: ResolvedOptions): boolean {
  return [successText, partialText, reasoningText, toolArguments].some(({ length }) => length > MAX_TEXT);
}

/**
 * Why a fault can't be played in any protocol, neither as a stream nor as a JSON body, or `undefined`. One that some
 * answers reach is found out when a request comes.
 */
export function unreachable(named: Named, options: ResolvedOptions): string | undefined {
  const { fault } = named;
  if (!isPlayed(fault) || requestBytesOf(fault) !== undefined || !namesAPlace(fault)) return undefined;
  if (isLong(options)) return undefined;
  const answers = answersOf(options);
  const asked = { headers: {}, keepAlive: true, httpVersion: '1.1' } as const;
  const chosen = onlyAttempt(named, 'reach');
  let first: string | undefined;
  for (const protocol of PROTOCOLS) {
    // A body costs a fraction of what the events of a stream do.
    for (const stream of [false, true]) {
      try {
        answers.plan(chosen, protocol, { stream }, asked);
        return undefined;
      } catch (thrown) {
        // A stream has more places, so it is its own message that helps.
        if (stream) first ??= messageOf(thrown);
      }
    }
  }
  return first;
}
