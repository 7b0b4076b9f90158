import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { rolesOf } from '../fault/edits.js';
import type { FaultSpec } from '../fault/spec.js';
import { idleOf } from '../fault/steps.js';
import type { WirePlan } from '../fault/wire-plan.js';
import type { RequestHead } from '../http/request.js';
import { type ResponseHead, type ResponseScanner, responseScanner } from '../http/response-scanner.js';
import type { PlayEnd, PlayHooks, Playing } from '../net/play.js';
import { type Intent, insideOf } from '../proof/account.js';
import type { Mark } from '../sse/mark.js';
import { type AnswerSignals, answerScan, bodyKindOf } from './answer-scan.js';
import { editedHead } from './head-edit.js';
import { idleWork } from './idle-work.js';
import type { KeptInput } from './kept-answer.js';
import type { LiveFault } from './live-fault.js';
import { markKeeper } from './mark-keeper.js';
import { type OutletEnd, outlet, type TurnedOut } from './outlet.js';
import { type Rewriting, rewriting } from './rewriting.js';
import { shiftedSignals, spreadSignals } from './spread-signals.js';

/** Passes an answer on as it comes, with a fault that needs no more than a part of it at a time. */
export interface Passing {
  readonly scan: ResponseScanner;
  readonly playback: Playing;
  full(): boolean;
  take(bytes: Buffer): void;
  finish(end: OutletEnd): void;
  came(turnedOut: TurnedOut): PassedOn;
}

/** What has become of the answer. */
export interface PassedOn {
  readonly plan: WirePlan;
  readonly intent: Intent;
  /** Of what the upstream sent. */
  readonly sha256: string | null;
  readonly unreached?: string;
  readonly rewritten: boolean;
  readonly unmarked: number;
}

export interface PassingInput extends KeptInput {
  readonly live: LiveFault;
  readonly asked: RequestHead;
  /** Known beforehand where the fault looks at it. */
  readonly head: ResponseHead | undefined;
  /** The first bytes, which have it. */
  readonly first: Buffer;
  readonly wanted: boolean;
  onRoom(): void;
  onCut(): void;
  onEnd(end: PlayEnd, turnedOut: TurnedOut): void;
}

/** Events whose marks a ledger keeps: some megabytes at most. */
const MAX_EVENTS = 20_000;

const NO_BYTES = Buffer.alloc(0);

export function passing(socket: Socket, hooks: PlayHooks, input: PassingInput): Passing {
  const { live, fault, asked, protocol, head } = input;
  const marks = markKeeper({ maxEvents: input.wanted ? MAX_EVENTS : 0 });
  const out = outlet(socket, hooks, {
    ...input,
    ...live,
    needsHead: live.needsEvents !== undefined,
    // What is written anew is written in whole events.
    unsure: () => (anew ? undefined : scan.unsure()),
    hashes: input.wanted,
  });
  const signals = spreadSignals([marks, out.signals]);
  const anew = head && live.rewrites ? rewriting(head, input, signals) : undefined;
  const edit = head && fault.head && !anew ? headEdit(head, input.first, fault, signals) : undefined;
  const scan = answerScan(asked.method, protocol, (anew ?? edit)?.signals ?? signals, anew?.long);
  // Where nothing is looked for, events are counted once their bytes have gone on; only the end has to be known.
  const plain = live.cut === undefined && live.stops.length === 0 && edit === undefined && anew === undefined;
  const ends = plain ? responseScanner(asked.method, {}) : undefined;
  const counting = plain ? idleWork(scan.feed) : undefined;
  const scanned = ends ?? scan;
  const upstreamHash = (edit || anew) && input.wanted ? createHash('sha256') : undefined;
  let come = 0;

  function take(bytes: Buffer): void {
    const before = come;
    come += bytes.length;
    scanned.feed(bytes);
    // What comes behind the answer is no part of it.
    const end = scanned.end();
    const own = end === undefined ? bytes : bytes.subarray(0, Math.max(0, end - before));
    if (input.wanted) counting?.add(own);
    upstreamHash?.update(own);
    if (anew) {
      flush(anew);
      return;
    }
    // The first bytes have the whole head, where it is known beforehand.
    if (edit && head && before === 0) {
      out.push(Buffer.concat([own.subarray(0, head.start), edit.bytes, own.subarray(head.end)]));
    } else out.push(own);
  }

  /** What is written of the new answer goes out; once all of it is, no more of the upstream's is wanted. */
  function flush(anew: Rewriting): void {
    const bytes = anew.written();
    if (bytes.length > 0) out.push(bytes);
    if (!anew.endReached()) return;
    if (scanned.end() === undefined) input.onCut();
    out.finish({ steps: live.endSteps, closes: anew.closes });
  }

  function finish(end: OutletEnd): void {
    const whole = scanned.end() !== undefined;
    if (anew && !whole && !anew.endReached()) anew.breakOff(scan.begun());
    if (anew) flush(anew);
    out.finish(anew && whole ? { ...end, closes: anew.closes } : end);
  }

  function came(turnedOut: TurnedOut): PassedOn {
    const { steps, closes, sha256 } = turnedOut;
    const cutAt = anew?.endReached() ? out.received() : turnedOut.cutAt;
    const unreached = [...turnedOut.unreached, ...(anew?.unreached ?? [])];
    counting?.flush();
    // What ended with the connection has a last event, too.
    if (ends?.end() !== undefined) scan.finish();
    const all = marks.marks();
    const { cut } = fault;
    const idle = idleOf({ fault, content: input.content, context: input.material.context, seed: input.material.seed });
    return {
      plan: {
        bytes: NO_BYTES,
        marks: all,
        ...(cut && cutAt !== undefined ? { cut: { position: cut.at, offset: cutAt } } : {}),
        steps,
        closes,
        unapplied: [
          ...unappliedIn(fault),
          ...(anew?.unapplied() ?? (live.rewrites ? ['all: the answer was not whole'] : [])),
        ],
        ...(idle ? { idle } : {}),
      },
      intent: {
        sha256: sha256?.received ?? '',
        bytes: out.received(),
        inside: cutAt === undefined ? '' : insideAt(all, cutAt),
        blocks: 0,
        marks: [],
        ...(sha256 ? { written: { bytes: out.sent(), sha256: sha256.written } } : {}),
      },
      sha256: upstreamHash?.digest('hex') ?? sha256?.received ?? null,
      rewritten: edit !== undefined || anew !== undefined,
      unmarked: marks.unmarked,
      ...(unreached.length > 0 ? { unreached: unreachedText(unreached, fault, marks.events, out.received()) } : {}),
    };
  }

  return {
    scan: scanned,
    playback: out,
    full: out.full,
    take,
    finish,
    came,
  };
}

function insideAt(marks: readonly Mark[], offset: number): string {
  return insideOf({ bytes: NO_BYTES, marks }, offset);
}

function unreachedText(unreached: readonly string[], { cut }: FaultSpec, events: number, bytes: number): string {
  const positions = unreached.map((position) => (position === 'cut' ? (cut?.at ?? position) : position));
  return `position ${positions.join(', ')}: the answer doesn't reach it; it has ${bytes} bytes and ${events} events`;
}

/** What an upstream's answer says is its own matter. */
export function unappliedIn({ answer, events = [], pace, cut }: FaultSpec): string[] {
  const healthy = answer === undefined || (answer.kind === 'turn' && /^(success|partial)$/.test(answer.turn.text));
  // An answer whose content is dropped says nothing.
  const dropped = events.some((edit) => edit.op === 'keep' && rolesOf(edit.where)?.includes('delta') === false);
  return [...(healthy || dropped ? [] : ['answer']), ...(pace?.pulse && !cut ? ['pace.pulse'] : [])];
}

interface HeadEdit {
  readonly bytes: Buffer;
  readonly signals: AnswerSignals;
}

/** Another head in the place of the upstream's, which lies in `raw`; what is told behind it moves along. */
function headEdit(head: ResponseHead, raw: Buffer, fault: FaultSpec, to: AnswerSignals): HeadEdit {
  const form = fault.head ?? {};
  const swapped = bodyKindOf(head).kind === 'events' ? 'application/json' : 'text/event-stream; charset=utf-8';
  const own = raw.subarray(head.start, head.end);
  const edited = editedHead(own, head, form, form.contentType === 'swapped' ? swapped : undefined);
  const moved = edited.marks.map((mark) => ({ ...mark, start: head.start + mark.start, end: head.start + mark.end }));
  const markOf = (kind: Mark['kind']): Mark | undefined => moved.find((mark) => mark.kind === kind);
  const end = head.start + edited.bytes.length;
  const { onInformational } = to;
  return {
    bytes: edited.bytes,
    signals: {
      ...shiftedSignals(to, end - head.end),
      ...(onInformational ? { onInformational } : {}),
      onHead: () => {
        for (const mark of moved) if (mark.kind === 'informational') onInformational?.(mark.start, mark.end);
        const [line, headers] = [markOf('status_line'), markOf('headers')];
        to.onHead?.({
          start: line?.start ?? head.start,
          statusLineEnd: line?.end ?? head.start,
          end: headers?.end ?? end,
          framing: head.framing,
        });
      },
    },
  };
}
