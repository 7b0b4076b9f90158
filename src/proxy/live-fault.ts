import seedrandom from 'seedrandom';
import type { Duration, FaultSpec } from '../fault/spec.js';
import { durationMs, SEGMENT_GAP_MS, sliceOf } from '../fault/steps.js';
import type { Step, WirePlan } from '../fault/wire-plan.js';
import type { Content } from '../fault/words.js';
import type { Protocol } from '../sse/dialect.js';
import { rewritesBody } from './kept-answer.js';
import { livePlace, needOf, placeAtStart, placesAfterEvents, placesEvery } from './live-place.js';
import type { OutletCut, Stop } from './outlet.js';

const NO_BYTES = Buffer.alloc(0);

/** What a fault does to an answer while it passes: a pure translation of its places and pauses. */
export interface LiveFault {
  readonly stops: readonly Stop[];
  readonly cut: OutletCut | undefined;
  /** A position that only an event stream has. */
  readonly needsEvents: string | undefined;
  readonly keepLast: boolean;
  /** The body is written anew, event by event. */
  readonly rewrites: boolean;
  /** What is done behind a body that the fault ends. */
  readonly endSteps: readonly Step[];
}

export interface LiveFaultInput {
  readonly fault: FaultSpec;
  readonly content: Content;
  readonly protocol: Protocol;
  readonly seed: string;
}

export function liveFault({ fault, content, protocol, seed }: LiveFaultInput): LiveFault {
  const { pace = {}, segments = {}, cut } = fault;
  const ms = (duration: Duration): number => durationMs(duration, content);
  const wait = jittered(pace.jitter ?? 0, seed);
  const stops: Stop[] = [];
  const add = (place: Stop['place'], steps: Stop['steps'], more: Partial<Stop> = {}): void => {
    stops.push({ place, steps, between: false, ...more });
  };
  if (pace.firstByteMs !== undefined) add(placeAtStart(), wait(ms(pace.firstByteMs)));
  for (const { at, name } of pace.gates ?? []) {
    add(livePlace(at, protocol), () => [{ op: 'gate', name }], { required: at });
  }
  for (const pause of pace.pauses ?? []) add(livePlace(pause.at, protocol), wait(ms(pause.ms)), { required: pause.at });
  if (pace.after) {
    add(placesAfterEvents(pace.after.role, protocol), wait(ms(pace.after.ms)), { between: true });
  }
  if (pace.bytesPerSecond !== undefined) {
    const slice = sliceOf(pace.bytesPerSecond);
    add(placesEvery(slice.bytes), wait(slice.ms), { between: true });
  }
  for (const at of segments.at ?? []) {
    add(livePlace(at, protocol), wait(segments.gapMs ?? SEGMENT_GAP_MS), { between: true });
  }
  if (segments.everyBytes !== undefined) {
    add(placesEvery(segments.everyBytes), wait(segments.gapMs ?? 0), { between: true });
  }
  const positions = [...(cut ? [cut.at] : []), ...stops.flatMap(({ required = [] }) => required)];
  return {
    stops,
    // Such an answer ends as one without a cut, only sooner.
    cut:
      cut && cut.teardown !== 'eof'
        ? { place: livePlace(cut.at, protocol), tail: (last) => tailOf(fault, content, last) }
        : undefined,
    endSteps: tailOf(fault, content, NO_BYTES).steps,
    rewrites: rewritesBody(fault),
    needsEvents: positions.find((at) => needOf(at) === 'events'),
    keepLast: pace.pulse !== undefined,
  };
}

/** Each pause stretched or shrunk by a part that the seed draws. */
function jittered(jitter: number, seed: string): (ms: number) => () => readonly Step[] {
  const random = jitter === 0 ? undefined : seedrandom.alea(`${seed}/jitter`);
  return (ms) => () => {
    const actual = random ? Math.round(ms * (1 + jitter * (2 * random() - 1)) * 1000) / 1000 : ms;
    return actual > 0 ? [{ op: 'wait', ms: actual }] : [];
  };
}

function tailOf({ cut, pace = {} }: FaultSpec, content: Content, last: Buffer): Pick<WirePlan, 'bytes' | 'steps'> {
  const { teardown = 'stall', delayMs } = cut ?? {};
  const { pulse } = pace;
  const number = pulse && /"sequence_number":(\d+)/.exec(last.toString('utf8'))?.[1];
  const steps: Step[] = [
    ...(pulse && last.length > 0
      ? [
          {
            op: 'pulse',
            start: 0,
            end: last.length,
            everyMs: durationMs(pulse.everyMs, content),
            times: pulse.times ?? Number.POSITIVE_INFINITY,
            ...(number === undefined ? {} : { sequence: Number(number) }),
          } as const,
        ]
      : []),
    ...(delayMs === undefined ? [] : [{ op: 'wait', ms: durationMs(delayMs, content) } as const]),
    ...(teardown === 'rst' ? [settleStep(content)] : []),
    { op: 'teardown', kind: teardown },
  ];
  return { bytes: last, steps };
}

/** Proof that the client has what was sent. */
export function settleStep(content: Content): Step {
  return { op: 'settle', until: 'read', timeoutMs: content.settleTimeoutMs };
}
