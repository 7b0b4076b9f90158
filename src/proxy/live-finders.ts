import type { Chunk } from '../http/response-scanner.js';
import { contentMarks } from '../sse/content-marks.js';
import type { Protocol } from '../sse/dialect.js';
import type { Marked } from '../sse/mark.js';
import { placeAfter } from '../sse/scanner.js';
import type { AnswerSignals, HeadPlace } from './answer-scan.js';

/** How each kind of place is looked for in a passing answer: what `live-place` has in its table. */
export interface PlaceSignals extends AnswerSignals {
  /** So many bytes have come. */
  onBytes?(received: number): void;
}

/** What a row of the table tells. */
export interface Finder {
  readonly protocol: Protocol;
  readonly k: number;
  /** Bytes behind `offset` are held. */
  hold(offset: number): void;
  /** All that has come may pass. */
  pass(): void;
  /** The `n`th place is at `offset`. Told in rising order. */
  hit(n: number, offset: number): void;
  wants(n: number): boolean;
}

export type Find = (finder: Finder) => PlaceSignals;

const CRLF_BYTES = 2;

export function within(offset: number, end: number): number | undefined {
  return offset <= end ? offset : undefined;
}

/** Holds the final head until it has come. */
export function inHead(of: (head: HeadPlace, k: number) => number | undefined): Find {
  return (finder) => {
    finder.hold(0);
    return {
      onInformational: (_, end) => finder.hold(end),
      onHead: (head) => {
        finder.pass();
        const at = of(head, finder.k);
        if (at !== undefined) finder.hit(1, at);
      },
    };
  };
}

/** Reached once so many bytes have come: an answer may be shorter. */
export function atByte(finder: Finder): PlaceSignals {
  finder.hold(finder.k);
  const come = (received: number): void => {
    if (received >= finder.k) finder.hit(1, finder.k);
  };
  if (finder.k === 0) come(0);
  return { onBytes: come };
}

export function atBodyByte(finder: Finder): PlaceSignals {
  let come = 0;
  return {
    onHead: ({ end }) => {
      if (finder.k === 0) finder.hit(1, end);
    },
    onBody: ({ length }, start) => {
      if (come < finder.k && finder.k <= come + length) finder.hit(1, start + finder.k - come);
      come += length;
    },
  };
}

/** Places that the size line tells. */
export function inChunk(of: (chunk: Chunk, k: number) => number | undefined): Find {
  return (finder) => ({
    onChunk: (chunk) => {
      const at = of(chunk, finder.k);
      if (at !== undefined) finder.hit(chunk.index, at);
    },
  });
}

/** Holds the line until its end has come. */
export function sizeEnd(finder: Finder): PlaceSignals {
  const holdNext = (n: number, offset: number): void => {
    if (finder.wants(n)) finder.hold(offset);
    else finder.pass();
  };
  return {
    onHead: ({ end }) => holdNext(1, end),
    onChunk: ({ index, dataStart, dataEnd }) => {
      finder.hit(index, dataStart - CRLF_BYTES);
      holdNext(index + 1, dataEnd + CRLF_BYTES);
    },
    onLastChunk: () => finder.pass(),
  };
}

interface LastChunkPlace {
  begun?(start: number): number;
  ended?(start: number, end: number, k: number): number | undefined;
  unchunked?(end: number): number;
}

/** Holds what stands behind each chunk until it is known whether it is the last. */
export function inLastChunk({ begun, ended, unchunked }: LastChunkPlace): Find {
  return (finder) => {
    const hit = (at: number | undefined): void => {
      if (at !== undefined) finder.hit(1, at);
    };
    let last: number | undefined;
    return {
      onHead: ({ framing, end }) => {
        if (framing === 'chunked') finder.hold(end);
      },
      onChunk: ({ dataEnd }) => finder.hold(dataEnd + CRLF_BYTES),
      onLastChunk: (start) => {
        last = start;
        hit(begun?.(start));
      },
      onEnd: (end) => hit(last === undefined ? unchunked?.(end) : ended?.(last, end, finder.k)),
    };
  };
}

/** Behind so many bytes of each character of several bytes, by the lead bytes of UTF-8 (RFC 3629, section 3). */
export function insideCharacters(bytesIn: (length: number, k: number) => number | undefined): Find {
  return (finder) => {
    let n = 0;
    /** Bytes of the current character that are still to come. */
    let left = 0;
    /** And those of them that come before the place. */
    let before = 0;
    return {
      onBody: (bytes, start) => {
        for (let at = 0; at < bytes.length; at++) {
          if (left > 0) left--;
          else {
            const lead = bytes[at] ?? 0;
            if (lead < 0xc2) continue;
            const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
            n++;
            left = length - 1;
            before = bytesIn(length, finder.k) ?? 0;
          }
          if (before === 0) continue;
          before--;
          if (before === 0) finder.hit(n, start + at + 1);
        }
      },
    };
  };
}

/** Holds what stands behind a CR until it is known whether a LF does. */
export function insideLineEnds(finder: Finder): PlaceSignals {
  let n = 0;
  let afterCr: number | undefined;
  return {
    onBody: (bytes, start) => {
      if (afterCr !== undefined && bytes[0] === 0x0a) finder.hit(++n, afterCr);
      afterCr = undefined;
      finder.pass();
      for (let at = bytes.indexOf(0x0d); at >= 0; at = bytes.indexOf(0x0d, at + 1)) {
        if (at === bytes.length - 1) {
          afterCr = start + at + 1;
          finder.hold(afterCr);
        } else if (bytes[at + 1] === 0x0a) finder.hit(++n, start + at + 1);
      }
    },
  };
}

/** What stands between the chunks of an event is none of its bytes. */
export function intoEvent(finder: Finder): PlaceSignals {
  let before = 0;
  /** Body bytes up to the place, while it isn't known where it is. */
  let left: number | undefined;
  let place: number | undefined;
  let bodyEnd = 0;
  const within = (bytes: number, start: number): void => {
    if (left === undefined) return;
    if (left <= bytes) {
      place = start + left;
      left = undefined;
      finder.hold(place);
    } else left -= bytes;
  };
  const found = (): void => {
    if (place !== undefined) finder.hit(before, place);
    place = undefined;
  };
  return {
    onBody: ({ length }, start) => {
      bodyEnd = start + length;
      within(length, start);
    },
    onEventStart: (start) => {
      if (!finder.wants(before)) return;
      left = finder.k;
      within(bodyEnd - start, start);
      if (finder.k === 0) found();
    },
    onEvent: ({ end }) => {
      if (place !== undefined && place <= end) found();
      place = undefined;
      left = undefined;
      before++;
      finder.pass();
    },
    // The event goes on behind it.
    onBytes: (received) => {
      if (place !== undefined && received >= place) found();
    },
  };
}

/** Holds the event until its end has come. */
export function middleOfEvent(finder: Finder): PlaceSignals {
  let count = 0;
  return {
    onEventStart: (start) => {
      if (finder.wants(count + 1)) finder.hold(start);
    },
    onEvent: ({ start, bytes, stretches }) => {
      count++;
      finder.pass();
      const half = Math.floor(bytes.length / 2);
      finder.hit(count, half === 0 ? start : placeAfter(stretches, half));
    },
  };
}

/** Holds each event until it is known what it says. */
export function inContent(endsOf: (event: Marked) => readonly number[]): Find {
  return (finder) => {
    let count = 0;
    return {
      onEventStart: (start) => finder.hold(start),
      onEvent: (event) => {
        finder.pass();
        // An event as an answer of its own, with marks of its content.
        const marks = event.contents ?? contentMarks(finder.protocol, event, event.fields);
        for (const end of endsOf({ bytes: event.bytes, marks })) {
          finder.hit(++count, placeAfter(event.stretches, end));
        }
      },
    };
  };
}

/**
 * Holds what stands behind the last event with content until more of it comes, or the terminal. An answer without
 * content is cut where its content would have come.
 */
export function afterDeltas(finder: Finder): PlaceSignals {
  let end: number | undefined;
  let delta = false;
  const found = (): void => {
    if (end !== undefined) finder.hit(1, end);
  };
  return {
    onEvent: ({ role, endBorder }) => {
      if (role === 'delta' || (!delta && (role === 'start' || role === 'open'))) {
        delta ||= role === 'delta';
        end = endBorder;
        finder.hold(end);
      } else if (role === 'terminal') found();
    },
    onEnd: found,
  };
}

/** Holds each event until it is known what it is. */
export function beforeTerminal(finder: Finder): PlaceSignals {
  return {
    onHead: ({ end }) => finder.hold(end),
    onEvent: ({ role, startBorder, endBorder }) => {
      if (role === 'terminal') finder.hit(1, startBorder);
      else finder.hold(endBorder);
    },
    onEnd: () => finder.pass(),
  };
}

/** Holds what stands behind each event until another begins. */
export function afterEvents(finder: Finder): PlaceSignals {
  let last: number | undefined;
  return {
    onHead: ({ end }) => finder.hold(end),
    onEventStart: () => finder.pass(),
    onEvent: ({ endBorder }) => {
      last = endBorder;
      finder.hold(endBorder);
    },
    onEnd: (end) => finder.hit(1, last ?? end),
  };
}
