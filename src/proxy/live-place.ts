import { bytesOfArguments, codePointsOfText } from '../fault/characters.js';
import type { Protocol } from '../sse/dialect.js';
import {
  afterDeltas,
  afterEvents,
  atBodyByte,
  atByte,
  beforeTerminal,
  type Find,
  inChunk,
  inContent,
  inHead,
  inLastChunk,
  insideCharacters,
  insideLineEnds,
  intoEvent,
  middleOfEvent,
  type PlaceSignals,
  sizeEnd,
  within,
} from './live-finders.js';

/**
 * Positions in an answer that is passing: each is looked for as the bytes come, and holds back no more than the one
 * element that has to be known. The counterpart of the table in `fault/position`, which has the whole answer.
 */
export interface LivePlace extends PlaceSignals {
  /** Where it is, once that is known; with `*` the next one. */
  at(): number | undefined;
  /** Bytes up to here come before it for sure. */
  safe(): number;
  /** Goes on to the next place behind `at`. */
  next(): void;
}

/** What a position has to know before a byte may pass: bytes and framing, events, or the whole answer. */
export type Need = 'wire' | 'events' | 'whole';

interface Row {
  readonly pattern: RegExp;
  readonly need: Exclude<Need, 'whole'>;
  readonly find: Find;
}

const CRLF_BYTES = 2;

/** `half` isn't among them: it needs the whole answer. `accept` and `request` come before any answer. */
const ROWS: readonly Row[] = [
  row(
    'status_line:K',
    'wire',
    inHead(({ start, statusLineEnd }, k) => within(start + k, statusLineEnd)),
  ),
  row(
    'headers:K',
    'wire',
    inHead(({ statusLineEnd, end }, k) => within(statusLineEnd + k, end)),
  ),
  row(
    'headers',
    'wire',
    inHead(({ end }) => end),
  ),
  row('byte:K', 'wire', atByte),
  row('body:K', 'wire', atBodyByte),
  row(
    'chunk:N',
    'wire',
    inChunk(({ dataEnd }) => dataEnd + CRLF_BYTES),
  ),
  row('chunk:N.size', 'wire', sizeEnd),
  row(
    'chunk:N.data+K',
    'wire',
    inChunk(({ dataStart, dataEnd }, k) => within(dataStart + k, dataEnd)),
  ),
  row(
    'chunk:N.end',
    'wire',
    inChunk(({ dataEnd }) => dataEnd),
  ),
  row('last_chunk', 'wire', inLastChunk({ begun: (start) => start, unchunked: (end) => end })),
  row('last_chunk.end', 'wire', inLastChunk({ ended: (_, end) => end - CRLF_BYTES })),
  row('last_chunk+K', 'wire', inLastChunk({ ended: (start, end, k) => within(start + k, end) })),
  row(
    'char:N.mid',
    'wire',
    insideCharacters((length) => Math.floor(length / 2)),
  ),
  row(
    'char:N+K',
    'wire',
    insideCharacters((length, k) => (k >= 1 && k < length ? k : undefined)),
  ),
  row('eol:N.mid', 'wire', insideLineEnds),
  row('event:N', 'events', (finder) => ({ onEvent: ({ index, endBorder }) => finder.hit(index, endBorder) })),
  row('event:N+K', 'events', intoEvent),
  row('event:N.mid', 'events', middleOfEvent),
  row('text:N', 'events', inContent(codePointsOfText)),
  row('tool_args:N', 'events', inContent(bytesOfArguments)),
  row('deltas', 'events', afterDeltas),
  row('terminator', 'events', beforeTerminal),
  row('events', 'events', afterEvents),
  row('end', 'wire', (finder) => ({ onEnd: (end) => finder.hit(1, end) })),
];

function row(form: string, need: Row['need'], find: Find): Row {
  const pattern = form
    .replaceAll(/[.+]/g, '\\$&')
    .replaceAll(/\bN\b/g, '(?<n>\\d{1,15}|\\*)')
    .replaceAll(/\bK\b/g, '(?<k>\\d{1,15})');
  return { pattern: new RegExp(`^${pattern}$`), need, find };
}

function rowOf(position: string): { row: Row; n: number; k: number; all: boolean } | undefined {
  for (const row of ROWS) {
    const match = row.pattern.exec(position);
    if (!match) continue;
    const { n = '1', k = '0' } = match.groups ?? {};
    return { row, n: Number(n), k: Number(k), all: n === '*' };
  }
  return undefined;
}

export function needOf(position: string): Need {
  return rowOf(position)?.row.need ?? 'whole';
}

/**
 * Looks for a position, or with `*` for all of a kind.
 * @param position one whose need isn't the whole answer
 */
export function livePlace(position: string, protocol: Protocol): LivePlace {
  const found = rowOf(position);
  if (!found) throw new Error(`${position} can't be found in a passing answer`);
  const { row, n: wanted, k, all } = found;
  return place(protocol, k, (n) => all || n === wanted, row.find);
}

/** Behind each event with a role; `event` is any. */
export function placesAfterEvents(role: string, protocol: Protocol): LivePlace {
  let started = false;
  return place(
    protocol,
    0,
    () => true,
    (finder) => ({
      onEvent: (event) => {
        started ||= event.role === 'start';
        // An answer's own keep-alives, which come once it has started, belong to it.
        if (started && role === 'keepalive') return;
        if (role === 'event' || event.role === role) finder.hit(event.index, event.endBorder);
      },
    }),
  );
}

/** Before the first byte. */
export function placeAtStart(): LivePlace {
  let at: number | undefined = 0;
  return {
    at: () => at,
    safe: () => Number.POSITIVE_INFINITY,
    next: () => {
      at = undefined;
    },
  };
}

/** Every so many bytes. */
export function placesEvery(bytes: number): LivePlace {
  let at = bytes;
  return {
    at: () => at,
    safe: () => Number.POSITIVE_INFINITY,
    next: () => {
      at += bytes;
    },
  };
}

function place(protocol: Protocol, k: number, wants: (n: number) => boolean, find: Find): LivePlace {
  const hits: number[] = [];
  let safe = Number.POSITIVE_INFINITY;
  const signals = find({
    protocol,
    k,
    wants,
    hold: (offset) => {
      safe = offset;
    },
    pass: () => {
      safe = Number.POSITIVE_INFINITY;
    },
    hit: (n, offset) => {
      if (wants(n)) hits.push(offset);
    },
  });
  return {
    ...signals,
    at: () => hits[0],
    safe: () => safe,
    next: () => {
      hits.shift();
    },
  };
}
