import type { Ledger } from '../proof/ledger.js';
import { answerScan } from '../proxy/answer-scan.js';
import { PROTOCOLS, type Role } from '../sse/dialect.js';
import { headOf, toldToWaitMs } from '../trial/answer-facts.js';

/** An exchange with what its bytes add to its ledger. */
export interface ReportedExchange {
  readonly ledger: Ledger;
  /** `undefined`: its bytes aren't kept, or hold no head. */
  readonly status: number | undefined;
  /** What its headers tell the client to wait. */
  readonly toldToWaitMs: number | undefined;
  /** Where its head ends, in bytes of the answer. */
  readonly headEnd: number | undefined;
  /** Whole events in the order of the wire. */
  readonly events: readonly EventPlace[];
  /** Those that are not among them, since there were too many. */
  readonly moreEvents: number;
}

/** Offsets in bytes of the answer. */
export interface EventPlace {
  readonly name: string;
  readonly role: Role;
  readonly start: number;
  readonly end: number;
}

/** More can't be told from each other in a picture. */
const MAX_EVENTS = 300;
/** Of an answer that are looked at: what is behind them is as narrow as a line. */
const MAX_SCANNED_BYTES = 4 * 2 ** 20;

/** @param response the answer's bytes as they were on the wire, as far as they are kept */
export function reportedExchange(ledger: Ledger, response: Buffer | undefined): ReportedExchange {
  const head = headOf(response?.subarray(0, MAX_SCANNED_BYTES));
  const events: EventPlace[] = [];
  let moreEvents = 0;
  const protocol = PROTOCOLS.find((known) => known === ledger.request?.protocol);
  if (response && protocol) {
    const scan = answerScan(ledger.request?.method ?? 'POST', protocol, {
      onEvent: ({ name, role, start, end }) => {
        if (events.length < MAX_EVENTS) events.push({ name, role, start, end });
        else moreEvents++;
      },
    });
    scan.feed(response.subarray(0, MAX_SCANNED_BYTES));
  }
  const waitMs = head && toldToWaitMs(head);
  return { ledger, status: head?.status, toldToWaitMs: waitMs, headEnd: head?.end, events, moreEvents };
}
