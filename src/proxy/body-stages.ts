import { bytesOf } from '../fault/plan.js';
import type { Position } from '../fault/position.js';
import type { Splice } from '../fault/spec.js';
import { spliced } from '../fault/splice.js';
import { EXTRA, gzipper, withoutTrailer } from '../http/encoding.js';
import type { Encoding } from '../http/forms.js';
import type { Protocol, StreamEvent } from '../sse/dialect.js';
import { eventEncoder } from '../sse/encoder.js';
import type { SseForm } from '../sse/form.js';
import { takeMarked } from '../sse/mark.js';
import type { LiveEvent, Sink } from './edit-steps.js';
import { bodyTeller, type LivePart, withKnownContent } from './live-parts.js';
import { livePlace } from './live-place.js';
import { MAX_HELD_BYTES } from './passable.js';

/** What becomes of the events of a passing answer below their list: SSE bytes, splices, an early end, the encoding. */
export type BodyStage = (to: Sink<LivePart>) => Sink<LivePart>;

const NO_BYTES = Buffer.alloc(0);

/** Events to bytes. What stands behind the last one can only be left out where it is known that it is the last. */
export function encoding(form: SseForm | undefined, to: Sink<LivePart>): Sink<LiveEvent> {
  const encode = eventEncoder(form);
  const holds = form?.end !== undefined && form.end !== 'blank_line';
  let held: LiveEvent | undefined;
  let first = true;
  const put = ({ event, long }: LiveEvent, last: boolean): void => {
    const { bytes, marks } = long ? { bytes: bytesOfLong(event), marks: [] } : encode(event, last);
    to.take({ bytes, marks, first, known: long === true });
    first = false;
  };
  const release = (last: boolean): void => {
    const one = held;
    held = undefined;
    if (one) put(one, last);
  };
  return {
    take: (item) => {
      if (!holds) {
        put(item, false);
        return;
      }
      release(false);
      held = item;
    },
    end: () => {
      release(true);
      to.end();
    },
    letGo: () => {
      release(false);
      to.letGo();
    },
  };
}

function bytesOfLong({ raw }: StreamEvent): Buffer {
  return typeof raw === 'object' ? raw : NO_BYTES;
}

/** Places between two parts that are found once the second has come, or the end: so the last part waits for that. */
const FOUND_LATE = /^(?:end|last_chunk|event:\d+\+0)$/;

/** What a stage is told, or tells, of its place. */
export interface PlaceTold {
  /** The body doesn't have it. */
  unreached(position: Position): void;
  reached?(): void;
}

/** Looks for a place in the parts of a body, and holds those back that may have to be changed at it. */
function placing(position: Position, protocol: Protocol, holdsBorder: boolean) {
  const place = livePlace(position, protocol);
  const teller = bodyTeller(place);
  let held: { readonly part: LivePart; readonly start: number }[] = [];
  let heldBytes = 0;
  let come = 0;
  let gaveUp = false;
  const late = holdsBorder && FOUND_LATE.test(position);
  /** Whether a part that ends at `end` may go on. */
  const goesOn = (end: number): boolean => {
    if (gaveUp || place.at() !== undefined) return true;
    if (late && end === come) return false;
    return holdsBorder ? end < place.safe() : end <= place.safe();
  };
  return {
    at: (): number | undefined => (gaveUp ? undefined : place.at()),
    come: (part: LivePart): void => {
      if (!gaveUp && place.at() === undefined) teller.part(part);
      held.push({ part, start: come });
      come += part.bytes.length;
      heldBytes += part.bytes.length;
      gaveUp ||= place.at() === undefined && heldBytes > MAX_HELD_BYTES;
    },
    end: (): void => {
      if (!gaveUp && place.at() === undefined) teller.end();
    },
    /** Takes out what may go on; all of it, where nothing more comes. */
    free: (all = false): typeof held => {
      let count = 0;
      while (count < held.length) {
        const one = held[count];
        if (!one || !(all || goesOn(one.start + one.part.bytes.length))) break;
        heldBytes -= one.part.bytes.length;
        count++;
      }
      if (count === 0) return [];
      const free = held.slice(0, count);
      held = held.slice(count);
      return free;
    },
  };
}

/** Bytes put in and taken out at a place: into the part that ends there or has the place inside, as in a whole body. */
export function splicing(splice: Splice, protocol: Protocol, told: PlaceTold): BodyStage {
  return (to) => {
    const parts = placing(splice.at, protocol, true);
    let insert = bytesOf(splice);
    const put = (part: LivePart, start: number): void => {
      const at = parts.at();
      const length = part.bytes.length;
      const from = Math.max(0, (at ?? 0) - start);
      const remove = at === undefined ? 0 : Math.max(0, Math.min(length, at + (splice.remove ?? 0) - start) - from);
      if (at === undefined || from > length || (remove === 0 && insert.length === 0)) {
        to.take(part);
        return;
      }
      const known = withKnownContent(part, protocol);
      to.take({ ...known, ...spliced(known, { at: from, remove, insert }) });
      insert = NO_BYTES;
    };
    const release = (all?: boolean): void => {
      for (const { part, start } of parts.free(all)) put(part, start);
    };
    return {
      take: (part) => {
        parts.come(part);
        release();
      },
      end: () => {
        parts.end();
        if (parts.at() === undefined) told.unreached(splice.at);
        release(true);
        if (parts.at() !== undefined && insert.length > 0)
          to.take({ bytes: insert, marks: [], first: false, known: true });
        to.end();
      },
      letGo: () => {
        release(true);
        to.letGo();
      },
    };
  };
}

/** Ends the body at a place, so that its framing ends correctly behind it. */
export function ending(position: Position, protocol: Protocol, told: PlaceTold): BodyStage {
  return (to) => {
    const parts = placing(position, protocol, false);
    let ended = false;
    const end = (at: number): void => {
      ended = true;
      for (const { part, start } of parts.free(true)) {
        const length = Math.min(part.bytes.length, at - start);
        if (length > 0) to.take({ ...part, ...takeMarked(part, length) });
      }
      told.reached?.();
      to.end();
    };
    const go = (): void => {
      const at = parts.at();
      if (at !== undefined) end(at);
      else for (const { part } of parts.free()) to.take(part);
    };
    go();
    return {
      take: (part) => {
        if (ended) return;
        parts.come(part);
        go();
      },
      end: () => {
        if (ended) return;
        parts.end();
        go();
        if (ended) return;
        told.unreached(position);
        for (const { part } of parts.free(true)) to.take(part);
        to.end();
      },
      letGo: () => {
        if (ended) return;
        for (const { part } of parts.free(true)) to.take(part);
        to.letGo();
      },
    };
  };
}

/** What stands behind the parts of a body that is compressed as it comes. */
const GZIP_ENDS: Readonly<Record<Exclude<Encoding, 'gzip_half' | 'gzip_lie'>, (end: LivePart) => LivePart[]>> = {
  gzip: (end) => [end],
  gzip_no_trailer: (end) => [{ ...end, ...withoutTrailer(end) }],
  gzip_extra: (end) => [end, { ...end, ...EXTRA }],
};

/** Half of a compressed body isn't known before its end. */
export function compressing(kind: Exclude<Encoding, 'gzip_half'>): BodyStage {
  return (to) => {
    if (kind === 'gzip_lie') return to;
    const stream = gzipper();
    return {
      // What a cut has emptied leaves no trace.
      take: (part) => {
        if (part.bytes.length > 0) to.take({ ...part, ...stream.part(part), known: true });
      },
      end: () => {
        for (const part of GZIP_ENDS[kind]({ ...stream.end(), first: false, known: true })) to.take(part);
        to.end();
      },
      letGo: to.letGo,
    };
  };
}
