import { hash } from 'node:crypto';
import { textWithin } from '../fault/characters.js';
import { blocksIn } from '../fault/content-blocks.js';
import { bordersOf } from '../fault/position.js';
import type { Selection } from '../fault/script.js';
import type { WirePlan } from '../fault/wire-plan.js';
import type { Request, RequestHead } from '../http/request.js';
import { remembered } from '../known-bytes.js';
import type { Mark, Marked } from '../sse/mark.js';
import type { EvidenceSource } from './counters.js';
import { kept } from './json-fields.js';
import type { Ledger, UpstreamAccount } from './ledger.js';
import type { ExchangeEvidence } from './recorder.js';

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
    inside: insideCut(plan),
    blocks: marks.length,
    marks,
  };
}

/** Plans of one template have the same cut and marks (fault/template.ts). */
const insideCut = kept(
  (plan: WirePlan) => (plan.cut ? insideOf(plan, plan.cut.offset) : ''),
  ({ cut }) => cut,
  ({ marks }) => marks,
  ({ bytes }) => bytes.length,
);

/** What was asked, planned and seen: all that a ledger is made of (ledger-line.ts). */
export interface Account {
  readonly exchange: number;
  readonly connection: number;
  readonly onConnection: number;
  readonly evidence: EvidenceSource;
  /** What of the request was read: its head, and all of it. */
  readonly head: RequestHead | undefined;
  readonly request: Request | undefined;
  /** What is kept of its body instead of the request. */
  readonly body?: BodyFacts | undefined;
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

/** What the ledger says of a request's body. */
export interface BodyFacts {
  readonly bytes: number;
  readonly sha256: string;
  /** NAME of the first `wirefault:NAME` in it. */
  readonly marker: string | null;
}

export const bodyFactsOf = remembered(
  (body): BodyFacts => ({ bytes: body.length, sha256: sha256(body), marker: markerIn(body) }),
);

function markerIn(body: Buffer): string | null {
  // Most bodies have none, and needn't be made text for that.
  if (!body.includes('wirefault:')) return null;
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

export function sha256(bytes: Buffer): string {
  return hash('sha256', bytes, 'hex');
}

/** Milliseconds to a microsecond: more is noise. */
export function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
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

/** Written, but not arrived. Where the counts are the last that were known, more may have arrived. */
export function lostOf({ bytes, stale }: Pick<ExchangeEvidence, 'bytes' | 'stale'>): number | null {
  if (bytes.acked === null) return null;
  const arrived = Math.max(bytes.acked, bytes.read ?? 0);
  return stale && arrived < bytes.written ? null : bytes.written - arrived;
}
