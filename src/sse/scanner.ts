/**
 * An event stream in as its bytes come, its events out, wherever the bytes are split (WHATWG HTML, section 9.2.6). Only
 * the event that is coming is kept. Offsets are given from outside, so that they survive whatever stands between two
 * stretches of the body.
 */
export interface ScannedEvent {
  /** Counts from 1. */
  readonly index: number;
  /** All of its bytes, the blank line at its end included. */
  readonly bytes: Buffer;
  /** Where the stretches of its bytes lie. */
  readonly stretches: readonly Stretch[];
  readonly start: number;
  readonly end: number;
}

export interface Stretch {
  /** Offset of its first byte. */
  readonly start: number;
  readonly bytes: Buffer;
}

export interface SseEvents {
  /** The first byte of an event has come, which is at `start`. */
  onStart?(start: number): void;
  onEvent(event: ScannedEvent): void;
  /** Bytes of an event that is too long to be kept, as they come; it isn't told as one. `ended`: they are its last. */
  onLong?(bytes: Buffer, ended: boolean): void;
}

export interface SseScanner {
  /** Bytes of the body, of which the first lies at `start`. */
  feed(bytes: Buffer, start: number): void;
  /** The body is whole: what has begun is an event too, as most clients see it. */
  finish(): void;
  /** Where the event that is coming has begun. */
  openedAt(): number | undefined;
  /** What is kept of it. */
  begun(): Buffer;
  /** An event has ended by a CR, and the LF that may follow belongs to it: it ends here, or one byte later. */
  endsAt(): number | undefined;
}

const LF = 0x0a;
const CR = 0x0d;

/** @param maxEventBytes of an event that is kept. Default: of any length */
export function sseScanner(events: SseEvents, maxEventBytes = Number.POSITIVE_INFINITY): SseScanner {
  let index = 0;
  let stretches: Stretch[] = [];
  /** Bytes in them. */
  let keptBytes = 0;
  let long = false;
  let openedAt: number | undefined;
  /** Whether the current line has any byte. */
  let inLine = false;
  /** The last byte was a CR; a LF that follows belongs to it. */
  let afterCr = false;
  /** That CR ended the event, which isn't told before it is known whether a LF follows. */
  let endsAt: number | undefined;

  const joined = (): Buffer => {
    const [first] = stretches;
    return stretches.length === 1 && first ? first.bytes : Buffer.concat(stretches.map(({ bytes }) => bytes));
  };

  function emit(end: number): void {
    const event: ScannedEvent = { index: ++index, bytes: joined(), stretches, start: openedAt ?? end, end };
    const wasLong = long || event.bytes.length > maxEventBytes;
    long = false;
    stretches = [];
    keptBytes = 0;
    openedAt = undefined;
    endsAt = undefined;
    if (wasLong) events.onLong?.(event.bytes, true);
    else events.onEvent(event);
  }

  function letGo(): void {
    const bytes = joined();
    long = true;
    stretches = [];
    keptBytes = 0;
    events.onLong?.(bytes, false);
  }

  function open(at: number): void {
    openedAt = at;
    events.onStart?.(at);
  }

  function feed(bytes: Buffer, start: number): void {
    const length = bytes.length;
    if (length === 0) return;
    let at = 0;
    /** Where the current event's bytes begin in these. */
    let from = 0;
    const keep = (end: number): void => {
      if (end > from) stretches.push({ start: start + from, bytes: bytes.subarray(from, end) });
      keptBytes += end - from;
      from = end;
    };
    if (afterCr) {
      afterCr = false;
      if (bytes[0] === LF) at = 1;
      if (endsAt !== undefined) {
        keep(at);
        emit(at === 1 ? start + 1 : endsAt);
      } else if (openedAt === undefined) from = at;
    }
    // Nearly no stream has any.
    let cr = bytes.indexOf(CR, at);
    while (at < length) {
      let lf = bytes.indexOf(LF, at);
      if (lf < 0) lf = length;
      if (cr >= 0 && cr < at) cr = bytes.indexOf(CR, at);
      const eol = cr >= 0 && cr < lf ? cr : lf;
      if (eol > at) {
        if (openedAt === undefined) {
          from = at;
          open(start + at);
        }
        inLine = true;
      }
      if (eol === length) break;
      const blank = !inLine;
      inLine = false;
      at = eol + 1;
      if (eol === cr) {
        if (at === length) {
          afterCr = true;
          if (blank && openedAt !== undefined) endsAt = start + at;
          break;
        }
        if (bytes[at] === LF) at++;
      }
      if (!blank) continue;
      // A blank line before an event belongs to none.
      if (openedAt === undefined) from = at;
      else {
        keep(at);
        emit(start + at);
      }
    }
    if (openedAt !== undefined) keep(length);
    if (keptBytes > 0 && (long || keptBytes > maxEventBytes)) letGo();
  }

  return {
    feed,
    finish: () => {
      const last = stretches.at(-1);
      if (endsAt !== undefined) emit(endsAt);
      else if (openedAt !== undefined && last) emit(last.start + last.bytes.length);
      else if (long) emit(0);
      inLine = false;
      afterCr = false;
    },
    openedAt: () => openedAt,
    begun: joined,
    endsAt: () => endsAt,
  };
}

/** Offset of the `count`th byte's end among all bytes of the stretches; `count` is at least 1. */
export function placeAfter(stretches: readonly Stretch[], count: number): number {
  let left = count;
  for (const { start, bytes } of stretches) {
    if (left <= bytes.length) return start + left;
    left -= bytes.length;
  }
  const last = stretches.at(-1);
  return last ? last.start + last.bytes.length : 0;
}

/** The lines of an event that say something. */
export interface EventFields {
  readonly event?: string;
  /** Its data lines, joined by LF. */
  readonly data?: string;
  /** It has a comment line. */
  readonly comment: boolean;
}

const BOM = '\ufeff';

/** @param first of its stream, which a byte order mark may stand before */
export function fieldsOf(bytes: Buffer, first: boolean): EventFields {
  let text = bytes.toString('utf8');
  if (first && text.startsWith(BOM)) text = text.slice(1);
  // What nearly all events are: one data line, and perhaps a name before it.
  const simple = /^(?:event: ?([^\r\n]*)\n)?data: ?([^\r\n]*)\n\n$/.exec(text);
  if (simple) {
    const [, event, data = ''] = simple;
    return event === undefined ? { data, comment: false } : { event, data, comment: false };
  }
  let event: string | undefined;
  let data: string | undefined;
  let comment = false;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (line.startsWith(':')) comment = true;
    else if (name === 'event') event = value;
    else if (name === 'data') data = data === undefined ? value : `${data}\n${value}`;
  }
  return { ...(event === undefined ? {} : { event }), ...(data === undefined ? {} : { data }), comment };
}
