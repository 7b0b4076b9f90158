import { hash } from 'node:crypto';
import { textWithin } from '../fault/characters.js';
import { blocksIn } from '../fault/content-blocks.js';
import { bordersOf } from '../fault/position.js';
import type { Selection } from '../fault/script.js';
import { type WirePlan, waitMsOf } from '../fault/wire-plan.js';
import type { Request, RequestHead } from '../http/request.js';
import type { Mark, Marked } from '../sse/mark.js';
import type { EvidenceSource } from './counters.js';
import { LEDGER_VERSION, type Ledger, type UpstreamAccount } from './ledger.js';
import type { ByteCounts, ExchangeEvidence } from './recorder.js';
import { redactHeaders } from './redact.js';

/** What the ledger says of a whole plan. */
export interface Intent {
  readonly sha256: string;
  readonly bytes: number;
  /** What stands where it is cut. */
  readonly inside: string;
  /** Numbered paragraphs in it. */
  readonly blocks: number;
  /** Their marks. */
  readonly marks: readonly string[];
  /** What was written of it, where its bytes aren't kept. */
  readonly written?: { readonly bytes: number; readonly sha256: string };
}

/** `blocks`: whether the text can hold numbered paragraphs, which are only looked for then. */
export function intentOf(plan: WirePlan, blocks: boolean): Intent {
  const marks = blocks ? blocksIn(textWithin(plan, plan.bytes.length)).map(({ mark }) => mark) : [];
  return {
    sha256: sha256(plan.bytes),
    bytes: plan.bytes.length,
    inside: plan.cut ? insideOf(plan, plan.cut.offset) : '',
    blocks: marks.length,
    marks,
  };
}

/** Makes the ledger out of what was asked, planned and seen. Pure. */
export interface Account {
  readonly exchange: number;
  readonly connection: number;
  readonly onConnection: number;
  readonly evidence: EvidenceSource;
  /** What of the request was read: its head, and all of it. */
  readonly head: RequestHead | undefined;
  readonly request: Request | undefined;
  readonly requestBytes: number;
  readonly protocol: string;
  readonly timeScale: number;
  readonly selection: Selection;
  readonly generation: number;
  readonly droppedLanes: number;
  readonly state?: 'shared' | 'local' | undefined;
  /** Counts whole answers by their key; returns the count with this one. */
  countDelivered(key: string, whole: boolean): number;
  readonly plan: WirePlan;
  readonly intent: Intent;
  readonly upstream?: UpstreamAccount | undefined;
  readonly seen: ExchangeEvidence;
  readonly outcome: string;
  /** The kind of the teardown that was reached. */
  readonly teardown: string;
  readonly redact: boolean;
  readonly times: Omit<Ledger['times'], 'scale' | 'plannedWaitMs'>;
}

export function ledgerOf(account: Account): Ledger {
  const { selection, plan, intent, seen } = account;
  const { bytes } = seen;
  const behavior = selection.kind === 'behavior' ? selection.behavior : 'script_exhausted';
  const scripted = selection.kind === 'behavior' ? selection.scripted : 'script_exhausted';
  return {
    version: LEDGER_VERSION,
    exchange: account.exchange,
    connection: account.connection,
    onConnection: account.onConnection,
    client: seen.client,
    server: seen.server,
    connectionOffset: seen.connectionOffset,
    lane: selection.lane,
    generation: account.generation,
    attempt: selection.attempt,
    evidence: account.evidence,
    request: requestOf(account),
    requestBytes: account.requestBytes,
    selection: {
      scripted,
      behavior,
      source: selection.kind === 'behavior' ? selection.source : 'script',
      rule: selection.kind === 'behavior' ? (selection.rule ?? null) : null,
    },
    key: keyOf(account),
    droppedLanes: account.droppedLanes,
    ...(account.state ? { state: account.state } : {}),
    plan: { sha256: intent.sha256, bytes: intent.bytes, writtenSha256: writtenSha256(plan, intent, bytes.written) },
    cut: plan.cut ? { ...plan.cut, inside: intent.inside } : null,
    bytes,
    lost: lostOf(seen),
    stale: seen.stale,
    events: eventsOf(plan, bytes),
    terminal: terminalOf(plan, seen),
    blocks: blocksOf(plan, intent, seen),
    settled: seen.settled
      ? { level: seen.settled.level, reached: seen.settled.reached, waitedMs: rounded(seen.settled.waitedMs) }
      : null,
    unapplied: [...plan.unapplied],
    ...(plan.replayed ? { replayed: plan.replayed } : {}),
    ...(account.upstream ? { upstream: account.upstream } : {}),
    teardown: { kind: account.teardown, first: seen.endedBy ?? null },
    outcome: account.outcome,
    times: { ...account.times, scale: account.timeScale, plannedWaitMs: rounded(waitMsOf(plan)) },
  };
}

/** A whole answer is one of which nothing is missing, as far as is known. */
function keyOf({ selection, plan, intent, seen, countDelivered }: Account): Ledger['key'] {
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

/** What was asked. The body is unknown where it wasn't read, and all of it where the fault came before the head. */
function requestOf({ head, request, protocol, redact }: Account): Ledger['request'] {
  if (!head) return null;
  return {
    method: head.method,
    path: head.path,
    protocol,
    httpVersion: head.httpVersion,
    headers: redact ? redactHeaders(head.headers) : { ...head.headers },
    userAgent: head.headers['user-agent'] ?? null,
    bodyBytes: request ? request.body.length : null,
    bodySha256: request ? sha256(request.body) : null,
    marker: markerIn(request?.body),
  };
}

function markerIn(body: Buffer | undefined): string | null {
  // Most bodies have none, and needn't be made text for that.
  if (!body?.includes('wirefault:')) return null;
  return /wirefault:([A-Za-z0-9._-]{1,64})/.exec(body.toString('utf8'))?.[1] ?? null;
}

/**
 * Stream events whose last byte is among the first `flushedBytes`: the kernel has taken them. That is not delivery,
 * which only the ledger tells.
 */
export function eventsFlushed(plan: WirePlan, flushedBytes: number): number {
  let count = 0;
  for (const mark of plan.marks) if (mark.kind === 'event' && mark.end <= flushedBytes) count++;
  return count;
}

function sha256(bytes: Buffer): string {
  return hash('sha256', bytes, 'hex');
}

/** Milliseconds to a microsecond: more is noise. */
export function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** The smallest count of bytes that is sure to have reached the client, at the best level that is known. */
function best({ bytes, stale }: ExchangeEvidence): number | null {
  return stale ? bytes.acked : (bytes.read ?? bytes.acked);
}

/** What stands at `offset`: the innermost mark that it cuts, an event before the chunk data of its size; else the mark that ends there. */
export function insideOf(plan: Marked, offset: number): string {
  if (offset === 0) return 'before the answer';
  const lengthOf = (mark: Mark): number => mark.end - mark.start;
  const inner = (one: Mark, other: Mark): boolean =>
    lengthOf(one) < lengthOf(other) || (lengthOf(one) === lengthOf(other) && other.kind !== 'event');
  const cut = plan.marks
    .filter((mark) => mark.start < offset && offset < mark.end)
    .reduce<Mark | undefined>((found, mark) => (found && inner(found, mark) ? found : mark), undefined);
  if (cut) return `${named(cut)}+${offset - cut.start}`;
  const borders = bordersOf(plan.marks);
  const ended =
    plan.marks.findLast((mark) => mark.kind === 'event' && borders.end(mark) === offset) ??
    plan.marks.findLast((mark) => mark.end === offset);
  return ended ? `after ${named(ended)}` : offset === plan.bytes.length ? 'after everything' : 'between marks';
}

function named(mark: Mark): string {
  return `${mark.kind}:${mark.index}${mark.name ? ` (${mark.name})` : ''}`;
}

function eventsOf(plan: WirePlan, bytes: ByteCounts): Ledger['events'] {
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

/** Written, but not arrived. Where the counts are the last that were known, more may have arrived. */
export function lostOf({ bytes, stale }: Pick<ExchangeEvidence, 'bytes' | 'stale'>): number | null {
  if (bytes.acked === null) return null;
  const arrived = Math.max(bytes.acked, bytes.read ?? 0);
  return stale && arrived < bytes.written ? null : bytes.written - arrived;
}

function terminalOf(plan: WirePlan, seen: ExchangeEvidence): Ledger['terminal'] {
  const terminal = plan.marks.find((mark) => mark.kind === 'event' && mark.role === 'terminal');
  if (!terminal) return null;
  const known = best(seen);
  const delivered = known !== null && terminal.end <= known;
  // What was last known can be too low, but what was never flushed has reached nobody.
  const possible = terminal.end <= seen.bytes.flushed && (known === null || seen.stale);
  return { name: terminal.name ?? 'terminal', delivered: !delivered && possible ? null : delivered };
}

/** What a client that got everything has; pulses repeat bytes of the plan, and so leave it. */
function writtenSha256(plan: WirePlan, intent: Intent, written: number): string | null {
  if (written === intent.bytes) return intent.sha256;
  if (intent.written) return intent.written.bytes === written ? intent.written.sha256 : null;
  return plan.steps.some(({ op }) => op === 'pulse') ? null : sha256(plan.bytes.subarray(0, written));
}

/** Paragraphs are found in the text that the marks hold. Compressed streams have no such marks. */
function blocksOf(plan: WirePlan, intent: Intent, seen: ExchangeEvidence): Ledger['blocks'] {
  if (intent.blocks === 0) return null;
  const text = textWithin(plan, Math.min(best(seen) ?? seen.bytes.flushed, plan.bytes.length));
  // A paragraph is whole when its full stop has come, the only one that it has.
  const delivered = blocksIn(text.slice(0, text.lastIndexOf('.') + 1)).length;
  return { told: intent.blocks, delivered, marks: [...intent.marks] };
}
