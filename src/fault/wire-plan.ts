import type { Lease } from '../slabs.js';
import type { Mark } from '../sse/mark.js';
import type { Position } from './position.js';
import type { Teardown } from './spec.js';

export type Step =
  /** One segment: `bytes[start, end)`. */
  | { readonly op: 'write'; readonly start: number; readonly end: number }
  /** A pause on the plan's own clock, so that delays of writes don't add up. */
  | { readonly op: 'wait'; readonly ms: number }
  /** `bytes[start, end)` once more every `everyMs`, `times` times; `Infinity` for ever. */
  | {
      readonly op: 'pulse';
      readonly start: number;
      readonly end: number;
      readonly everyMs: number;
      readonly times: number;
      /** The number that rises by one with each pulse, where the event has one. */
      readonly sequence?: number;
    }
  /** Until the gate is released, by the library or the control plane. */
  | { readonly op: 'gate'; readonly name: string }
  /** Until what was written has reached the level, as far as evidence can be had, but no longer than `timeoutMs`. */
  | { readonly op: 'settle'; readonly until: 'flushed' | 'acked' | 'read'; readonly timeoutMs: number }
  | {
      readonly op: 'teardown';
      readonly kind: Teardown;
      /** A part of the request was not read, and isn't before the end either. */
      readonly unread?: true;
    };

/** The exact bytes of an answer, their marks, and the steps that play them. Plain data. */
export interface WirePlan {
  /** The whole intended answer, before the cut. */
  readonly bytes: Buffer;
  readonly marks: readonly Mark[];
  readonly cut?: { readonly position: Position; readonly offset: number };
  readonly steps: readonly Step[];
  /** The end of the connection ends the body. */
  readonly closes: boolean;
  /** Layers of the fault that this answer has no place for: the events of a JSON body, say. */
  readonly unapplied: readonly string[];
  /** What becomes of the connection once the answer is through. */
  readonly idle?: IdlePlan;
  /** The recording that was answered from, and how it was found. */
  readonly replayed?: { readonly recording: string; readonly by: 'fingerprint' | 'order' };
  /** Of the memory of `bytes`, where it is used again. */
  readonly lease?: Lease | undefined;
}

/** What happens on the connection behind an answer. */
export interface IdlePlan {
  readonly stray?: { readonly bytes: Buffer; readonly afterMs: number };
  readonly teardown?: 'fin' | 'rst';
  /** So long after the answer, where no request has come. */
  readonly afterMs?: number;
  /** At the first byte of the so manyth request behind this one. */
  readonly onRequest?: number;
}

/** The pauses of the plan, in all. Keep-alives for ever have no end, and count once. */
export function waitMsOf({ steps }: Pick<WirePlan, 'steps'>): number {
  return steps.reduce((sum, step) => {
    if (step.op === 'wait') return sum + step.ms;
    if (step.op === 'pulse') return sum + step.everyMs * (Number.isFinite(step.times) ? step.times : 1);
    return sum;
  }, 0);
}

/** The bytes of the `nth` pulse, counted from 1: those of the plan, with the sequence number moved on. */
export function pulseBytes(plan: Pick<WirePlan, 'bytes'>, step: Step & { readonly op: 'pulse' }, nth: number): Buffer {
  const bytes = plan.bytes.subarray(step.start, step.end);
  if (step.sequence === undefined) return bytes;
  const text = bytes.toString('utf8');
  const moved = text.replace(`"sequence_number":${step.sequence}`, `"sequence_number":${step.sequence + nth}`);
  const [, size, data] = /^([0-9a-f]+)\r\n(.*)\r\n$/s.exec(moved) ?? [];
  // A longer number makes a longer chunk, whose size line has to say so.
  return size === undefined || data === undefined
    ? Buffer.from(moved)
    : Buffer.from(`${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n`);
}

/** How far the steps write. */
export function writtenUpTo({ steps }: WirePlan): number {
  return steps.reduce((end, step) => ('end' in step ? Math.max(end, step.end) : end), 0);
}

/**
 * The plan without the bytes that its steps never write, for those who keep plans: a stalled connection of 10,000
 * holds its head, not its whole intended answer. Marks are those of the whole.
 */
export function writtenPart(plan: WirePlan): WirePlan {
  const end = writtenUpTo(plan);
  return end === plan.bytes.length
    ? plan
    : { ...plan, bytes: Buffer.from(plan.bytes.subarray(0, end)), lease: undefined };
}
