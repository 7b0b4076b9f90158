import { headerIn, type ResponseHead, responseScanner } from '../http/response-scanner.js';
import type { Ledger } from '../proof/ledger.js';

/** What rules ask of one answer. Pure. */

/** The head of an answer, as far as its bytes have one. */
export function headOf(bytes: Buffer | undefined): ResponseHead | undefined {
  if (!bytes) return undefined;
  const scanner = responseScanner('POST', {});
  scanner.feed(bytes);
  return scanner.head();
}

/** How long an answer tells the client to wait, in milliseconds. Dates and nonsense are no such number. */
export function toldToWaitMs(head: ResponseHead): number | undefined {
  const ms = numberIn(headerIn(head.headers, 'retry-after-ms'));
  if (ms !== undefined) return ms;
  const seconds = numberIn(headerIn(head.headers, 'retry-after'));
  return seconds === undefined ? undefined : seconds * 1000;
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}

/** A protocol's answer that has no end of its own, or was told that it failed. */
export function isBroken({ terminal, cut, outcome, events }: Ledger): boolean {
  if (cut !== null || terminal?.delivered === false) return true;
  if (outcome !== 'completed') return true;
  return Object.keys(events).some((name) => name === 'error' || name === 'response.failed');
}

/** Events that carry what a user sees, or a program acts on. */
const OUTPUT = /^(?:content|content_block_delta|reasoning|refusal|tool_call|tool_args|response\.[a-z_]+\.delta)$/;
const TOOL = /tool|function_call/;

function delivered({ events }: Ledger, names: RegExp): number {
  const counts = Object.entries(events).filter(([name]) => names.test(name));
  return counts.reduce((sum, [, one]) => sum + (one.read ?? one.acked ?? one.flushed), 0);
}

export const outputDelivered = (ledger: Ledger): number => delivered(ledger, OUTPUT);
export const toolsDelivered = (ledger: Ledger): number => delivered(ledger, TOOL);

export function startMs({ times }: Ledger): number {
  return Date.parse(times.requestAt);
}

/** When the client could know that the answer was over. */
export function endMs(ledger: Ledger): number {
  return startMs(ledger) + (ledger.times.teardownMs ?? ledger.times.endMs);
}

/** The pause between an answer's end and the next request, in whole milliseconds. */
export function gapMs(before: Ledger, after: Ledger): number {
  return Math.max(0, Math.round(startMs(after) - endMs(before)));
}

/** The same request sent more than once, each in the order of time. Those whose body isn't known stand alone. */
export function repeats(ledgers: readonly Ledger[]): Ledger[][] {
  const groups = new Map<string, Ledger[]>();
  for (const ledger of ledgers) {
    const sha = ledger.request?.bodySha256;
    if (!sha) continue;
    const key = `${ledger.request?.path} ${sha}`;
    groups.set(key, [...(groups.get(key) ?? []), ledger]);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

/** Pairs of an answer and the next request with the same body, which came after it. */
export function retries(ledgers: readonly Ledger[]): (readonly [before: Ledger, after: Ledger])[] {
  return repeats(ledgers).flatMap((group) =>
    group.slice(1).flatMap((after, n) => {
      const before = group[n];
      // What was sent while the other was under way is no retry of it.
      return before && startMs(after) + 1 >= endMs(before) ? [[before, after] as const] : [];
    }),
  );
}
