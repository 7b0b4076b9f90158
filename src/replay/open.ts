import { answersOf } from '../answers.js';
import { type Named, onlyAttempt } from '../fault/script.js';
import { isPlayed, requestBytesOf } from '../fault/stage.js';
import type { ResolvedOptions } from '../options.js';
import { isPassed } from '../proxy/proxy-answers.js';
import { unreachable } from '../reach.js';
import type { Naming } from '../refused.js';
import { readTapes } from './read.js';
import { type Replay, replayOf } from './replay.js';

/**
 * The recordings that the options name.
 * @throws WirefaultError `bad_recording`
 */
export async function openReplay(options: ResolvedOptions, naming: Naming): Promise<Replay | undefined> {
  if (options.replay === undefined) return undefined;
  return replayOf(await readTapes(options.replay, naming('replay')), options);
}

/** Why a fault can't be played on any answer, neither on one of the recordings nor, where it answers itself, on its own. */
export function unreachableIn(named: Named, options: ResolvedOptions, replay: Replay | undefined): string | undefined {
  const { fault } = named;
  if (!replay || !isPassed(fault)) return unreachable(named, options);
  if (!isPlayed(fault) || requestBytesOf(fault) !== undefined) return undefined;
  const material = answersOf(options).material(onlyAttempt(named, 'reach'), 'openai-chat', {});
  return replay.unreachable(fault, { content: options, material });
}
