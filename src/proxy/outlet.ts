import type { Socket } from 'node:net';
import type { Step, WirePlan } from '../fault/wire-plan.js';
import { endingWith, type PlayEnd, type PlayHooks, type Playing } from '../net/play.js';
import { play } from '../net/player.js';
import { answerHashes } from './answer-hashes.js';
import type { AnswerSignals } from './answer-scan.js';
import { lastEventKeeper } from './last-event.js';
import type { LivePlace } from './live-place.js';
import { MAX_HELD_BYTES, type PassableInput, passable } from './passable.js';
import { pauseClock } from './pause-clock.js';

/**
 * Plays an answer that is still coming: bytes go on as they come, up to the next place at which something is to happen;
 * the end of it, a teardown too, is a plan that the player plays.
 */
export interface Outlet extends Playing {
  /** What is told of the bytes before they are pushed. */
  readonly signals: AnswerSignals;
  push(bytes: Buffer): void;
  /** Nothing more comes: once all has gone, and unless a cut is reached before, it ends so. */
  finish(end: OutletEnd): void;
  /** More has come than has gone: whoever makes it should wait for `onRoom`. */
  full(): boolean;
  /** Bytes that were written. */
  sent(): number;
  /** Bytes that have come. */
  received(): number;
}

/** How an answer without a cut ends. */
export interface OutletEnd {
  readonly steps: readonly Step[];
  readonly closes: boolean;
}

/** A place at which something happens before the answer goes on. */
export interface Stop {
  readonly place: LivePlace;
  /** Each time that it is come to. */
  steps(): readonly Step[];
  /** The pause is between what was and what comes: where the answer is cut, there is none. */
  readonly between: boolean;
  /** Where it isn't reached, the fault isn't what was asked for. */
  readonly required?: string;
}

export interface OutletInput extends Omit<PassableInput, 'places'> {
  readonly stops: readonly Stop[];
  readonly cut: OutletCut | undefined;
  /** Keeps the last event, whose bytes a pulse sends again. */
  readonly keepLast: boolean;
  /** Whether hashes are wanted. */
  readonly hashes: boolean;
  /** There is room for more. */
  onRoom(): void;
  /** The cut has been reached, and its teardown begins: no more bytes are wanted. */
  onCut(): void;
  onEnd(end: PlayEnd, turnedOut: TurnedOut): void;
}

export interface OutletCut {
  readonly place: LivePlace;
  /** What is done there; `last` are the bytes of the last event before it. */
  tail(last: Buffer): Pick<WirePlan, 'bytes' | 'steps'>;
}

/** What has become of an answer. */
export interface TurnedOut {
  readonly cutAt: number | undefined;
  /** Positions that the answer doesn't have. */
  readonly unreached: readonly string[];
  readonly steps: readonly Step[];
  readonly closes: boolean;
  /** SHA-256 of what was written, and of all that came. */
  readonly sha256: { readonly written: string; readonly received: string } | undefined;
}

/** More than this is read ahead of a client that is slow, or of a pause. */
const HIGH_WATER_BYTES = 262_144;

const NO_BYTES = Buffer.alloc(0);

export function outlet(socket: Socket, hooks: PlayHooks, input: OutletInput): Outlet {
  const { cut, stops } = input;
  const places = [...(cut ? [cut.place] : []), ...stops.map(({ place }) => place)];
  const ahead = passable({ ...input, places });
  const hashes = input.hashes ? answerHashes() : undefined;
  const clock = pauseClock(hooks.timeScale);
  const queue: Buffer[] = [];
  let queuedBytes = 0;
  let sent = 0;
  let received = 0;
  let pendingBytes = 0;
  let flushedBytes = 0;
  let ending: OutletEnd | undefined;
  let tail: Playing | undefined;
  let ended = false;
  let clientHasEnded = false;
  let blocked = false;
  let wasFull = false;
  let timer: NodeJS.Timeout | undefined;
  let leaveGate: (() => void) | undefined;
  let onFlushed: (() => void) | undefined;
  let cutAt: number | undefined;
  const reached = new Set<LivePlace>();
  const lastEvent = input.keepLast ? lastEventKeeper() : undefined;

  function pump(): void {
    while (!ended && !tail && !blocked) {
      if (takeStop()) continue;
      const atCut = cut?.place.at() === sent;
      const wait = clock.leftMs(atCut);
      if (wait > 0 && (atCut || queuedBytes > 0 || ending)) {
        block();
        timer = setTimeout(unblock, wait);
        return;
      }
      if (atCut && cut) {
        beginCut(cut);
        return;
      }
      const length = Math.min(ahead.limit(received) - sent, queuedBytes);
      if (length > 0) write(length);
      else if (queuedBytes === 0) {
        if (ending) conclude(ending);
        return;
      } else if (ending || queuedBytes > MAX_HELD_BYTES) {
        // Nothing will come that could tell more, or what has come is too long to be held.
        ahead.giveUp();
      } else return;
    }
  }

  /** Whether something was to be done here. */
  function takeStop(): boolean {
    const stop = stops.find(({ place }) => (place.at() ?? Number.POSITIVE_INFINITY) <= sent);
    if (!stop || ahead.gaveUp()) return false;
    stop.place.next();
    reached.add(stop.place);
    for (const step of stop.steps()) {
      if (step.op === 'wait') {
        clock.pause(step.ms, stop.between);
      } else if (step.op === 'gate') {
        block();
        leaveGate = hooks.gate(step.name, () => {
          leaveGate = undefined;
          clock.catchUp();
          unblock();
        });
      }
    }
    return true;
  }

  function block(): void {
    blocked = true;
    wasFull ||= isFull();
  }

  function unblock(): void {
    blocked = false;
    pump();
    room();
  }

  function isFull(): boolean {
    return pendingBytes > HIGH_WATER_BYTES || (blocked && queuedBytes > HIGH_WATER_BYTES);
  }

  function room(): void {
    if (!wasFull || isFull() || ended) return;
    wasFull = false;
    input.onRoom();
  }

  /** Writes the next bytes, or as many of them as are in one piece. */
  function write(length: number): void {
    const [first = NO_BYTES] = queue;
    const bytes = first.length <= length ? first : first.subarray(0, length);
    if (bytes === first) queue.shift();
    else queue[0] = first.subarray(length);
    queuedBytes -= bytes.length;
    sent += bytes.length;
    lastEvent?.wrote(bytes, sent);
    hashes?.wrote(bytes);
    pendingBytes += bytes.length;
    hooks.onWrite?.(bytes);
    const ready = socket.write(bytes, (error) => {
      pendingBytes -= bytes.length;
      // As in the player: what a socket that was reset has thrown away is called back for as well.
      if (!(error instanceof Error) && !socket.destroyed) flushedBytes += bytes.length;
      if (pendingBytes > 0) return;
      const resume = onFlushed;
      onFlushed = undefined;
      resume?.();
      room();
    });
    if (ready || pendingBytes <= HIGH_WATER_BYTES) return;
    block();
    onFlushed = unblock;
  }

  function beginCut({ tail: tailOf }: OutletCut): void {
    cutAt = sent;
    input.onCut();
    startTail({ closes: false, ...tailOf(lastEvent?.bytes(sent) ?? NO_BYTES) });
  }

  function conclude(end: OutletEnd): void {
    // What is quiet is over once the kernel has it all.
    if (pendingBytes > 0) {
      onFlushed = pump;
      return;
    }
    hooks.onLast();
    startTail({ bytes: NO_BYTES, ...end });
  }

  function startTail({ bytes, steps, closes }: Pick<WirePlan, 'bytes' | 'steps' | 'closes'>): void {
    const plan: WirePlan = { bytes, marks: [], steps, closes, unapplied: [] };
    const onEnd = (end: PlayEnd): void =>
      finishWith({ ...end, flushedBytes: flushedBytes + end.flushedBytes }, steps, closes);
    const playing = play(socket, plan, endingWith(hooks, onEnd));
    tail = playing;
    if (clientHasEnded) playing.clientEnded();
    // Not within what the bytes are being pushed by.
    queueMicrotask(() => playing.begin());
  }

  function finishWith(end: PlayEnd, steps: readonly Step[], closes: boolean): void {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    leaveGate?.();
    const waitedMs = clock.totalMs();
    const cutUnreached = cut && cutAt === undefined && ending ? ['cut'] : [];
    const stopsUnreached = stops.flatMap(({ required, place }) =>
      required !== undefined && ending && !reached.has(place) ? [required] : [],
    );
    input.onEnd(end, {
      cutAt,
      unreached: [...cutUnreached, ...stopsUnreached],
      steps: [
        { op: 'write', start: 0, end: sent },
        ...(waitedMs > 0 ? [{ op: 'wait', ms: waitedMs } as const] : []),
        ...steps,
      ],
      closes,
      sha256: hashes?.digests(queue),
    });
  }

  return {
    signals: {
      ...ahead.signals,
      onEvent: (event) => {
        lastEvent?.seen(event.startBorder, event.endBorder);
        ahead.signals.onEvent?.(event);
      },
    },
    push: (bytes) => {
      if (ended || tail) return;
      // The upstream was waited for.
      if (queuedBytes === 0 && !blocked) clock.catchUp();
      queue.push(bytes);
      queuedBytes += bytes.length;
      received += bytes.length;
      ahead.come(received);
      pump();
      wasFull ||= isFull();
    },
    finish: (end) => {
      ending ??= end;
      pump();
    },
    full: isFull,
    sent: () => sent,
    received: () => received,
    silent: () => tail?.silent() ?? false,
    clientEnded: () => {
      clientHasEnded = true;
      tail?.clientEnded();
    },
    abort: (by) => {
      if (tail) tail.abort(by);
      else
        finishWith(
          { how: by === 'client' ? 'client_closed' : 'server_closed', reached: undefined, flushedBytes },
          [],
          true,
        );
    },
  };
}
