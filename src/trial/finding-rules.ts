import { headerIn } from '../http/response-scanner.js';
import type { Ledger } from '../proof/ledger.js';
import {
  endMs,
  gapMs,
  headOf,
  isBroken,
  outputDelivered,
  repeats,
  retries,
  startMs,
  toldToWaitMs,
  toolsDelivered,
} from './answer-facts.js';

export const FINDING_KINDS = [
  'retry_after_ignored',
  'retried_unretryable',
  'retry_storm',
  'no_backoff',
  'replay_after_output',
  'truncated_accepted',
  'no_idle_timeout',
  'socket_reused_after_broken',
  'repeated_side_effects',
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** What is known beside the ledgers. Rules that need more than there is find nothing. */
export interface FindingSources {
  /** The answer's bytes, in which its status and its headers stand. */
  response?(exchange: number): Buffer | undefined;
  /** The text of a request's body. */
  requestBody?(exchange: number): string | undefined;
  /** Exchanges whose broken answer the client took for whole, as far as a trial has shown. */
  readonly accepted?: readonly number[];
  /** Silence of this length without the client going is no patience any more. Default 60,000. */
  readonly patienceMs?: number;
}

const DEFAULT_PATIENCE_MS = 60_000;

interface Seen {
  readonly exchanges: readonly number[];
  readonly evidence: readonly string[];
}

interface FindingRule {
  readonly advice: string;
  find(ledgers: readonly Ledger[], sources: FindingSources): readonly Seen[];
}

/** Clocks of two programs: a request that was told to come after 1,000 ms may be seen a little sooner. */
const CLOCK_MS = 20;
/** What no second try makes right (RFC 9110, section 15.5). 408, 409, 425 and 429 are others. */
const UNRETRYABLE = [400, 401, 402, 403, 404, 405, 411, 413, 414, 415, 422];
const STORM_REQUESTS = 5;
const STORM_MS = 1000;
/** Pauses of a backoff grow; jitter may take back some of it. */
const BACKOFF_PAUSES = 3;
const GROWTH = 1.3;

const of = (ledger: Ledger): string => `exchange ${ledger.exchange}`;

export const RULES: Readonly<Record<FindingKind, FindingRule>> = {
  retry_after_ignored: {
    advice: 'Wait for as long as Retry-After or retry-after-ms says, up to a limit beyond which the error is shown.',
    find: (ledgers, { response }) =>
      retries(ledgers).flatMap(([before, after]) => {
        const head = headOf(response?.(before.exchange));
        const waitMs = head && toldToWaitMs(head);
        const gap = gapMs(before, after);
        if (!head || waitMs === undefined || gap + CLOCK_MS >= waitMs) return [];
        return pair(
          before,
          after,
          `${of(before)}: status ${head.status}, wait ${waitMs} ms`,
          `${of(after)}: after ${gap} ms`,
        );
      }),
  },
  retried_unretryable: {
    advice: 'Show errors that a second try cannot make right, and heed x-should-retry: false.',
    find: (ledgers, { response }) =>
      retries(ledgers).flatMap(([before, after]) => {
        const head = headOf(response?.(before.exchange));
        if (!head) return [];
        const should = headerIn(head.headers, 'x-should-retry');
        if (should === 'true' || (should !== 'false' && !UNRETRYABLE.includes(head.status))) return [];
        const told = `status ${head.status}${should === 'false' ? ', x-should-retry: false' : ''}`;
        return pair(before, after, `${of(before)}: ${told}`, `${of(after)}: the same request`);
      }),
  },
  retry_storm: {
    advice: 'Bound the number of retries, and pause between them.',
    find: (ledgers) =>
      failing(ledgers).flatMap((group) => {
        for (let n = 0; n + STORM_REQUESTS <= group.length; n++) {
          const burst = group.slice(n, n + STORM_REQUESTS);
          const [first, last] = [burst[0], burst.at(-1)];
          const ms = first && last ? startMs(last) - startMs(first) : Number.POSITIVE_INFINITY;
          if (ms <= STORM_MS) {
            return [
              {
                exchanges: numbers(group),
                evidence: [`${STORM_REQUESTS} equal requests within ${ms} ms, ${group.length} in all`],
              },
            ];
          }
        }
        return [];
      }),
  },
  no_backoff: {
    advice: 'Let the pauses between retries grow, with jitter, so that clients do not come back all at once.',
    find: (ledgers) =>
      failing(ledgers).flatMap((group) => {
        const pauses = group.slice(1).map((after, n) => gapMs(group[n] ?? after, after));
        const [first, last] = [pauses[0], pauses.at(-1)];
        if (pauses.length < BACKOFF_PAUSES || first === undefined || last === undefined) return [];
        if (last > Math.max(first, 1) * GROWTH) return [];
        return [{ exchanges: numbers(group), evidence: [`pauses of ${pauses.slice(0, 12).join(', ')} ms`] }];
      }),
  },
  replay_after_output: {
    advice: 'Text of a broken answer has been handed out: take it back before the next answer is shown, or say so.',
    find: (ledgers) =>
      retries(ledgers).flatMap(([before, after]) => {
        const events = outputDelivered(before);
        if (!isBroken(before) || events === 0) return [];
        return pair(
          before,
          after,
          `${of(before)}: ${events} events with output delivered, then ${before.outcome}`,
          `${of(after)}: the same request`,
        );
      }),
  },
  truncated_accepted: {
    advice: "Hold an answer for whole only when the protocol's end has come and its finish says so.",
    find: (ledgers, { accepted = [], requestBody }) =>
      ledgers.filter(isBroken).flatMap((ledger) => {
        if (accepted.includes(ledger.exchange)) {
          return [
            {
              exchanges: [ledger.exchange],
              evidence: [`${of(ledger)}: ${cutOf(ledger)}; the client ended with success`],
            },
          ];
        }
        // It comes back as part of the conversation.
        const later = ledgers.find(
          (other) =>
            startMs(other) >= endMs(ledger) &&
            ledger.blocks?.marks.some((mark) => requestBody?.(other.exchange)?.includes(mark)),
        );
        return later
          ? pair(ledger, later, `${of(ledger)}: ${cutOf(ledger)}`, `${of(later)}: its text stands in the request`)
          : [];
      }),
  },
  no_idle_timeout: {
    advice: 'Give up after a silence between events, with an error of its own that can be retried.',
    find: (ledgers, { patienceMs = DEFAULT_PATIENCE_MS }) =>
      ledgers.flatMap((ledger) => {
        const silentMs = ledger.times.endMs - ledger.times.plannedWaitMs / ledger.times.scale;
        if (ledger.outcome !== 'stalled' || silentMs < patienceMs) return [];
        const seconds = Math.round(silentMs / 1000);
        return [
          { exchanges: [ledger.exchange], evidence: [`${of(ledger)}: still connected after ${seconds} s of silence`] },
        ];
      }),
  },
  socket_reused_after_broken: {
    advice: 'Close a connection on which the protocol broke; what comes next on it may belong to the broken answer.',
    find: (ledgers) =>
      ledgers.flatMap((after) => {
        const before = ledgers.find(
          (one) => one.connection === after.connection && one.onConnection === after.onConnection - 1,
        );
        if (!before || before.cut === null || !isBroken(before)) return [];
        return pair(
          before,
          after,
          `${of(before)}: ${cutOf(before)}`,
          `${of(after)}: on the same connection ${after.connection}`,
        );
      }),
  },
  repeated_side_effects: {
    advice: 'Give each effect an idempotency key, and ask what became of the first before doing it again.',
    find: (ledgers) => {
      const again = retries(ledgers).flatMap(([before, after]) => {
        const tools = toolsDelivered(before);
        if (!isBroken(before) || tools === 0) return [];
        return pair(
          before,
          after,
          `${of(before)}: ${tools} events of tool calls delivered, then ${before.outcome}`,
          `${of(after)}: the same request`,
        );
      });
      const keyed = ledgers.flatMap(({ exchange, key }) =>
        key && key.delivered > 1
          ? [
              {
                exchanges: [exchange],
                evidence: [
                  `exchange ${exchange}: answer ${key.delivered} delivered whole for ${key.name} ${key.value}`,
                ],
              },
            ]
          : [],
      );
      return [...again, ...keyed];
    },
  },
};

function pair(before: Ledger, after: Ledger, ...evidence: string[]): Seen[] {
  return [{ exchanges: [before.exchange, after.exchange], evidence }];
}

const numbers = (group: readonly Ledger[]): number[] => group.map(({ exchange }) => exchange);

/** Equal requests of which all but the last were answered with something broken, or with an error. */
function failing(ledgers: readonly Ledger[]): Ledger[][] {
  return repeats(ledgers).filter((group) => group.slice(0, -1).every((one) => isBroken(one) || one.terminal === null));
}

function cutOf({ cut, outcome }: Ledger): string {
  return cut ? `cut at ${cut.position} (${outcome})` : `no end of the protocol (${outcome})`;
}
