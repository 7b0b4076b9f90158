import { leasedCopyOf } from '../slabs.js';
import { type StampRecipe, type Stamps, stampsFrom, stampWriter, widthOf } from '../sse/stamps.js';
import type { WirePlan } from './wire-plan.js';

/**
 * A plan compiled once and stamped for each request: ids and times have a fixed width, so they are written over
 * those of the template. Compiling an answer of 20 events costs some 150 µs, stamping it 1.4 (bench/compile).
 */
export interface PlanTemplate {
  readonly plan: WirePlan;
  /** The stamps in the order in which they are drawn, each with the first place of its text; -1: it is seen nowhere. */
  readonly slots: readonly { readonly recipe: StampRecipe; readonly offset: number }[];
  /** The further places: each is a copy of the first, with what stands between two where that is the same. */
  readonly copies: readonly Copied[];
}

interface Copied {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

interface Logged {
  readonly recipe: StampRecipe;
  readonly text: string;
}

function compileWith(seed: string, now: Date, compile: (stamps: Stamps) => WirePlan) {
  const log: Logged[] = [];
  const plan = compile(stampsFrom(seed, now, (recipe, text) => log.push({ recipe, text })));
  return { plan, log };
}

function occurrences(bytes: Buffer, text: string): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(text, 0, 'latin1'); at >= 0; at = bytes.indexOf(text, at + 1, 'latin1')) found.push(at);
  return found;
}

/**
 * Finds the slots by compiling twice with different stamps: a place is a slot where the one stamp stands in the one
 * plan and the other in the other. So a user's text that happens to look like a stamp is left alone. `undefined` where
 * the one plan can't be made of the other so: where a chunk ends inside a stamp, say.
 */
export function templateOf(compile: (stamps: Stamps) => WirePlan): PlanTemplate | undefined {
  const a = compileWith('template a', new Date(Date.UTC(2003, 1, 3, 4, 5, 6)), compile);
  const b = compileWith('template b', new Date(Date.UTC(2022, 10, 19, 18, 47, 38)), compile);
  const fixed = a.log.every(({ text }, n) => text.length === b.log[n]?.text.length);
  if (!fixed || a.plan.bytes.length !== b.plan.bytes.length) {
    throw new Error('a stamp changed its width: the plan is no template');
  }
  const slots = a.log.map(({ recipe, text }, n) => {
    const other = b.log[n]?.text ?? '';
    const offsets = occurrences(a.plan.bytes, text).filter(
      (at) => b.plan.bytes.toString('latin1', at, at + other.length) === other,
    );
    return { recipe, offsets };
  });
  const made = Buffer.from(a.plan.bytes);
  slots.forEach(({ offsets }, n) => {
    for (const at of offsets) made.write(b.log[n]?.text ?? '', at, 'latin1');
  });
  if (!made.equals(b.plan.bytes)) return undefined;
  return {
    // A property that is there already is cheaper to write over than to add.
    plan: { ...a.plan, lease: undefined },
    slots: slots.map(({ recipe, offsets: [offset = -1] }) => ({ recipe, offset })),
    copies: copiesIn(a.plan.bytes, slots),
  };
}

/** Each event of a stream begins with the same id and time: one copy for both, and the text between. */
function copiesIn(
  bytes: Buffer,
  slots: readonly { readonly recipe: StampRecipe; readonly offsets: readonly number[] }[],
): Copied[] {
  const all = slots.flatMap(({ recipe, offsets: [from = 0, ...others] }) =>
    others.map((to): Copied => ({ from, to, length: widthOf(recipe) })),
  );
  const joined: Copied[] = [];
  for (const { from, to, length } of all.sort((one, other) => one.to - other.to)) {
    const before = joined.at(-1);
    const whole = before && to + length - before.to;
    const same =
      before && to - before.to === from - before.from && sameBytes(bytes, before.from, before.to, whole ?? 0);
    if (before && whole && same) joined[joined.length - 1] = { ...before, length: whole };
    else joined.push({ from, to, length });
  }
  return joined;
}

function sameBytes(bytes: Buffer, one: number, other: number, length: number): boolean {
  return one + length <= other && bytes.subarray(one, one + length).equals(bytes.subarray(other, other + length));
}

/** The plan with the stamps of (`seed`, `now`): the same bytes as compiling it with them. */
export function stamp(template: PlanTemplate, seed: string, now: Date): WirePlan {
  const { plan } = template;
  const lease = leasedCopyOf(plan.bytes);
  const bytes = lease.bytes();
  const write = stampWriter(seed, now);
  for (const { recipe, offset } of template.slots) {
    if (widthOf(recipe) > codes.length) codes = new Uint8Array(widthOf(recipe));
    const length = write(recipe, codes);
    if (offset >= 0) overwrite(bytes, offset, length);
  }
  for (const { from, to, length } of template.copies) bytes.copyWithin(to, from, from + length);
  return { ...plan, bytes, lease };
}

/** The stamp that is being written. Stamps are short: a call out of JavaScript costs more than this loop. */
let codes = new Uint8Array(64);

function overwrite(bytes: Buffer, at: number, length: number): void {
  for (let i = 0; i < length; i++) bytes[at + i] = codes[i] ?? 0;
}
