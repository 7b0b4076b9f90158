import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Step, WirePlan } from '../fault/wire-plan.js';
import { type Playback, type PlayEnd, type PlayHooks, play } from '../net/player.js';
import type { AnswerSignals } from './answer-scan.js';
import { idleWork } from './idle-work.js';
import { lastEventKeeper } from './last-event.js';
import type { LivePlace } from './live-place.js';
import { spreadSignals } from './spread-signals.js';

/**
 * Plays an answer that is still coming: bytes go on as they come, up to the next place at which something is to happen;
 * the end of it, a teardown too, is a plan that the player plays.
 */
export interface Outlet extends Playback {
  /** What is told of the bytes before they are pushed. */
  readonly signals: AnswerSignals;
  push(bytes: Buffer): void;
  /** Nothing more comes: once all has gone, and unless a cut is reached before, it ends so. */
  finish(end: OutletEnd): void;
  /** More has come than has gone: whoever makes it should wait for `onRoom`. */
  readonly full: boolean;
  /** Bytes that were written. */
  readonly sent: number;
  /** Bytes that have come. */
  readonly received: number;
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

export interface OutletInput {
  readonly stops: readonly Stop[];
  readonly cut: OutletCut | undefined;
  /** Whether places look at events, which there are only once the head has come. */
  readonly needsHead: boolean;
  readonly unsure: () => number | undefined;
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
/** An element that has to be known whole, and is longer, is passed on. */
const MAX_HELD_BYTES = 16_777_216;

const NO_BYTES = Buffer.alloc(0);

export function outlet(socket: Socket, hooks: PlayHooks, input: OutletInput): Outlet {
  const { cut, stops } = input;
  const places = [...(cut ? [cut.place] : []), ...stops.map(({ place }) => place)];
  const hash = input.hashes ? createHash('sha256') : undefined;
  const hashing = hash && idleWork((bytes) => hash.update(bytes));
  const queue: Buffer[] = [];
  let queuedBytes = 0;
  let sent = 0;
  let received = 0;
  let headKnown = !input.needsHead;
  let givenUp = false;
  let pendingBytes = 0;
  let flushedBytes = 0;
  let ending: OutletEnd | undefined;
  let tail: Playback | undefined;
  let ended = false;
  let clientHasEnded = false;
  let blocked = false;
  let wasFull = false;
  let timer: NodeJS.Timeout | undefined;
  let leaveGate: (() => void) | undefined;
  let onFlushed: (() => void) | undefined;
  // As the player's: pauses add up on a clock of their own, which starts anew where the upstream was waited for.
  let clockMs = performance.now();
  let goOnMs = 0;
  let cutNoSoonerMs = 0;
  let waitedMs = 0;
  let cutAt: number | undefined;
  const reached = new Set<LivePlace>();
  const lastEvent = input.keepLast ? lastEventKeeper() : undefined;

  function limit(): number {
    if (givenUp) return received;
    if (!headKnown) return 0;
    let least = places.length > 0 ? (input.unsure() ?? received) : received;
    for (const { at, safe } of places) least = Math.min(least, at ?? safe);
    return least;
  }

  function pump(): void {
    while (!ended && !tail && !blocked) {
      if (takeStop()) continue;
      const atCut = cut?.place.at === sent;
      const wait = (atCut ? cutNoSoonerMs : goOnMs) - performance.now();
      if (wait > 0 && (atCut || queuedBytes > 0 || ending)) {
        block();
        timer = setTimeout(unblock, wait);
        return;
      }
      if (atCut && cut) {
        beginCut(cut);
        return;
      }
      const length = Math.min(limit() - sent, queuedBytes);
      if (length > 0) write(length);
      else if (queuedBytes === 0) {
        if (ending) conclude(ending);
        return;
      } else if (ending || queuedBytes > MAX_HELD_BYTES) {
        // Nothing will come that could tell more, or what has come is too long to be held.
        givenUp = true;
      } else return;
    }
  }

  /** Whether something was to be done here. */
  function takeStop(): boolean {
    const stop = stops.find(({ place }) => place.at !== undefined && place.at <= sent);
    if (!stop || givenUp) return false;
    stop.place.next();
    reached.add(stop.place);
    for (const step of stop.steps()) {
      if (step.op === 'wait') {
        clockMs += step.ms / hooks.timeScale;
        waitedMs += step.ms;
        goOnMs = clockMs;
        if (!stop.between) cutNoSoonerMs = clockMs;
      } else if (step.op === 'gate') {
        block();
        leaveGate = hooks.gate(step.name, () => {
          leaveGate = undefined;
          // Time that was spent here is nobody's delay.
          clockMs = Math.max(clockMs, performance.now());
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
    hashing?.add(bytes);
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
    tail = play(socket, plan, {
      ...hooks,
      onEnd: (end) => finishWith({ ...end, flushedBytes: flushedBytes + end.flushedBytes }, steps, closes),
    });
    if (clientHasEnded) tail.clientEnded();
  }

  function finishWith(end: PlayEnd, steps: readonly Step[], closes: boolean): void {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    leaveGate?.();
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
      sha256: hash && hashed(),
    });
  }

  function hashed(): { written: string; received: string } {
    hashing?.flush();
    const written = hash?.copy().digest('hex') ?? '';
    for (const bytes of queue) hash?.update(bytes);
    return { written, received: hash?.digest('hex') ?? '' };
  }

  const fan = spreadSignals(places);

  return {
    signals: {
      ...fan,
      onHead: (head) => {
        headKnown = true;
        fan.onHead?.(head);
      },
      onEvent: (event) => {
        lastEvent?.seen(event.startBorder, event.endBorder);
        fan.onEvent?.(event);
      },
    },
    push: (bytes) => {
      if (ended || tail) return;
      if (queuedBytes === 0 && !blocked) clockMs = Math.max(clockMs, performance.now());
      queue.push(bytes);
      queuedBytes += bytes.length;
      received += bytes.length;
      for (const { onBytes } of places) onBytes?.(received);
      pump();
      wasFull ||= isFull();
    },
    finish: (end) => {
      ending ??= end;
      pump();
    },
    get full() {
      return isFull();
    },
    get sent() {
      return sent;
    },
    get received() {
      return received;
    },
    get silent() {
      return tail?.silent ?? false;
    },
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
