import type { Metrics } from './control/metrics.js';
import type { ControlTarget } from './control/target.js';
import { WirefaultError } from './errors.js';
import type { ExchangeListener, ServerEvent } from './events.js';
import type { ResolvedOptions } from './options.js';
import type { Upstream } from './proxy/upstream.js';
import type { Naming } from './refused.js';
import { unreachableIn } from './replay/open.js';
import { openRecording, type Recording } from './replay/recording.js';
import type { Replay } from './replay/replay.js';
import type { ServerState } from './server-state.js';

/** What a server is checked for and told by, before and while it runs. */
/** Where a proxy stores what its upstream answers, if it does. */
export async function recordingFor(
  upstream: Upstream | undefined,
  { emit, ...how }: { redact: boolean; name: string; emit(event: ServerEvent): void },
): Promise<Recording | undefined> {
  if (upstream?.target.record === undefined) return undefined;
  const { record: dir, key } = upstream.target;
  const onLost = (reason: string): void => emit({ type: 'record_failed', reason });
  return openRecording({ ...how, dir, secrets: key === undefined ? [] : [key], onLost });
}

export function healthOf({ own, away }: ServerState): ReturnType<ControlTarget['health']> {
  if (own) return { state: 'own' };
  return away === undefined ? { state: 'shared' } : { state: 'away', reason: away };
}

export function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return;
  const message = `${name}: ${JSON.stringify(value)} is not allowed; expected a whole number of at least 0`;
  throw new WirefaultError('bad_option', message);
}

/** What no answer reaches is found out before the first request, not by it. */
export function checkReach(options: ResolvedOptions, naming: Naming, replay: Replay | undefined): void {
  const scripts = [options.script, ...options.lanes.values()];
  const scripted = scripts.flatMap(({ entries }) => entries.flatMap(({ named }) => named ?? []));
  for (const named of new Set([...scripted, ...options.rules.map((rule) => rule.named)])) {
    const why = unreachableIn(named, options, replay);
    if (why !== undefined) throw new WirefaultError('bad_script', `${naming('sequence')}: ${named.name}: ${why}`);
  }
}

export function notify(onEvent: ((event: ServerEvent) => unknown) | undefined, event: ServerEvent): void {
  try {
    const result = onEvent?.(event);
    // An async observer's failure is its own, too.
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // An observer that throws changes nothing on the wire.
  }
}

/** Counts exchanges, and tells of them where somebody listens: two events for each would be 150 bytes (measured). */
export function exchangeListener(
  metrics: Metrics,
  onEvent: ((event: ServerEvent) => unknown) | undefined,
): ExchangeListener {
  return {
    onRequest: ({ attempt, scriptBehavior, behavior, path }) => {
      metrics.onRequest();
      if (onEvent) notify(onEvent, { type: 'request', attempt, scriptBehavior, behavior, path });
    },
    onResult: ({ attempt, scriptBehavior, behavior, path, chunksSent }, outcome, reason) => {
      metrics.onResult(behavior, outcome);
      if (!onEvent) return;
      const told = { type: 'result', attempt, scriptBehavior, behavior, path, outcome, chunksSent } as const;
      notify(onEvent, reason === undefined ? told : { ...told, reason });
    },
  };
}
