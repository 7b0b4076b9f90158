import { textWithin } from '../fault/characters.js';
import { blocksIn } from '../fault/content-blocks.js';
import type { WirePlan } from '../fault/wire-plan.js';
import { type Account, sha256 } from './account.js';
import type { Ledger } from './ledger.js';
import type { ByteCounts, ExchangeEvidence } from './recorder.js';

/** The parts of a ledger that have to be worked out. */

/** The smallest count of bytes that is sure to have reached the client, at the best level that is known. */
function best({ bytes, stale }: ExchangeEvidence): number | null {
  return stale ? bytes.acked : (bytes.read ?? bytes.acked);
}

/** A whole answer is one of which nothing is missing, as far as is known. */
export function keyOf({ selection, plan, intent, seen, countDelivered }: Account): Ledger['key'] {
  const use = selection.kind === 'behavior' ? selection.key : undefined;
  if (!use) return null;
  // A body that was ended early has a correct end of its own, but not all of what was to be said.
  const early = plan.cut && (plan.cut.offset < intent.bytes || endsEarly(plan));
  const whole = !early && seen.bytes.written === intent.bytes && (best(seen) ?? 0) >= intent.bytes;
  const { name, value, nth } = use;
  return { name, value, nth, delivered: countDelivered(`${name}=${value}`, whole) };
}

function endsEarly({ steps }: WirePlan): boolean {
  const end = steps.at(-1);
  return end?.op === 'teardown' && end.kind === 'eof';
}

export function eventsOf(plan: WirePlan, bytes: ByteCounts): Ledger['events'] {
  const events: Ledger['events'] = {};
  const counted = (end: number, level: number | null, before: number | null): number | null =>
    level === null ? null : (before ?? 0) + (end <= level ? 1 : 0);
  for (const { kind, name, end } of plan.marks) {
    if (kind !== 'event' || name === undefined) continue;
    const before = events[name] ?? { planned: 0, flushed: 0, acked: null, read: null };
    events[name] = {
      planned: before.planned + 1,
      flushed: before.flushed + (end <= bytes.flushed ? 1 : 0),
      acked: counted(end, bytes.acked, before.acked),
      read: counted(end, bytes.read, before.read),
    };
  }
  return events;
}

export function terminalOf(plan: WirePlan, seen: ExchangeEvidence): Ledger['terminal'] {
  const terminal = plan.marks.find((mark) => mark.kind === 'event' && mark.role === 'terminal');
  if (!terminal) return null;
  const known = best(seen);
  const delivered = known !== null && terminal.end <= known;
  // What was last known can be too low, but what was never flushed has reached nobody.
  const possible = terminal.end <= seen.bytes.flushed && (known === null || seen.stale);
  return { name: terminal.name ?? 'terminal', delivered: !delivered && possible ? null : delivered };
}

/** What a client that got everything has; pulses repeat bytes of the plan, and so leave it. */
export function writtenSha256({ plan, intent, seen }: Account): string | null {
  const { written } = seen.bytes;
  if (written === intent.bytes) return intent.sha256;
  if (intent.written) return intent.written.bytes === written ? intent.written.sha256 : null;
  return plan.steps.some(({ op }) => op === 'pulse') ? null : sha256(plan.bytes.subarray(0, written));
}

/** Paragraphs are found in the text that the marks hold. Compressed streams have no such marks. */
export function blocksOf({ plan, intent, seen }: Account): Ledger['blocks'] {
  if (intent.blocks === 0) return null;
  const text = textWithin(plan, Math.min(best(seen) ?? seen.bytes.flushed, plan.bytes.length));
  // A paragraph is whole when its full stop has come, the only one that it has.
  const delivered = blocksIn(text.slice(0, text.lastIndexOf('.') + 1)).length;
  return { told: intent.blocks, delivered, marks: [...intent.marks] };
}
