import type { FaultSpec } from '../fault/spec.js';
import type { EventEdit, NewEvent } from '../fault/spec-events.js';
import type { MeasuredBy, ProbeName, Rearmer } from './idle-results.js';

/** The situations in which a client is kept waiting, as faults. */

interface Probe {
  readonly meaning: string;
  /** The moment from which the patience is counted. */
  readonly from: string;
  /** `undefined`: the port is closed, which is no fault of an exchange. */
  readonly fault: FaultSpec | undefined;
  readonly measuredBy: MeasuredBy;
  /** It hits every connection: there is no request yet that could be told from others. */
  readonly early?: true;
}

const silentAt = (at: NonNullable<FaultSpec['cut']>['at'], more: FaultSpec = {}): FaultSpec => ({
  ...more,
  cut: { at, teardown: 'stall' },
});

const LAST_BYTE = 'the last byte';

/** Silences, each of which is measured by itself. `total` is no silence: its fault needs a pace, see `slowAnswer`. */
export const PROBE_TABLE: Readonly<Record<Exclude<ProbeName, 'total'>, Probe>> = {
  refused: { meaning: 'the connect is refused', from: 'the first refusal', fault: undefined, measuredBy: 'syn' },
  accept: {
    meaning: 'accepted, and the request is never read',
    from: 'the accept',
    fault: silentAt('accept'),
    measuredBy: 'socket_table',
    early: true,
  },
  no_headers: {
    meaning: 'the request is read, and no byte comes',
    from: 'the request',
    fault: silentAt('request'),
    measuredBy: 'socket',
  },
  headers: {
    meaning: 'silence after the headers',
    from: LAST_BYTE,
    fault: silentAt('headers'),
    measuredBy: 'socket',
  },
  first_event: {
    meaning: 'silence after the first event',
    from: LAST_BYTE,
    fault: silentAt('event:1'),
    measuredBy: 'socket',
  },
  between_events: {
    meaning: 'silence between events',
    from: LAST_BYTE,
    fault: silentAt('half'),
    measuredBy: 'socket',
  },
  no_terminal: {
    meaning: 'the finish has come, the terminal does not',
    from: LAST_BYTE,
    fault: silentAt('terminator'),
    measuredBy: 'socket',
  },
  no_close: {
    meaning: 'the terminal has come, the body is left open',
    from: LAST_BYTE,
    fault: silentAt('events', { framing: { kind: 'chunked' } }),
    measuredBy: 'socket',
  },
};

export const TOTAL = {
  meaning: 'events keep coming, the end does not',
  from: 'the request',
  measuredBy: 'socket',
} as const;

interface RearmerRow {
  readonly meaning: string;
  readonly event: NewEvent;
}

/** What is sent in the place of events, to see whether the client takes it for progress. */
export const REARMER_TABLE: Readonly<Record<Rearmer, RearmerRow>> = {
  comment: {
    meaning: 'a comment line of SSE',
    event: { comment: 'keep-alive', name: 'comment', role: 'keepalive' },
  },
  ping: { meaning: "the protocol's own sign of life (Chat Completions has none: a comment)", event: 'keepalive' },
  empty_event: { meaning: 'an event with empty data', event: { raw: 'data:\n\n', name: 'empty', role: 'keepalive' } },
};

/** The beginning of an answer, up to its first and only piece of text. */
const BEGUN: readonly EventEdit[] = [{ op: 'keep', where: { role: ['open', 'start', 'delta'] } }];
const SHORT: FaultSpec = {
  answer: { kind: 'turn', turn: { text: 'success', say: 'Hello', finish: 'stop' } },
  framing: { kind: 'chunked' },
};

/** An answer that has begun, and then only `event`, for ever. */
export function onlyPulses(event: NewEvent, everyMs: number): FaultSpec {
  return {
    ...SHORT,
    events: [...BEGUN, { op: 'insert', event }],
    pace: { pulse: { everyMs } },
    cut: { at: 'events', teardown: 'stall' },
  };
}

/** An answer whose text goes on for ever, a piece every `everyMs`. */
export function slowAnswer(everyMs: number): FaultSpec {
  return { ...SHORT, events: BEGUN, pace: { pulse: { everyMs } }, cut: { at: 'events', teardown: 'stall' } };
}

/** Pauses in a row: one behind the beginning of an answer, the others behind an event that came late. */
const GAPS = 2;

/** An answer with pauses of `gapMs` between its events, closed by the server after the last one. */
export function gappedAnswer(gapMs: number): FaultSpec {
  return {
    ...SHORT,
    events: BEGUN,
    pace: { pulse: { everyMs: gapMs, times: GAPS } },
    cut: { at: 'events', teardown: 'fin' },
  };
}
