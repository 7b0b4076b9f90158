import { type StampRecipe, type Stamps, stampsFrom, stampWriter, widthOf } from '../sse/stamps.js';
import { leasedCopyOf, MAX_LEASED_BYTES } from './slabs.js';
import type { WirePlan } from './wire-plan.js';

/**
 * A plan compiled once and stamped for each request: ids and times have a fixed width, so they are written over
 * those of the template. Compiling an answer of 20 events costs some 150 µs, stamping it 8 (bench/compile).
 */
export interface PlanTemplate {
  readonly plan: WirePlan;
  /** The stamps in the order in which they are drawn, each with the places of its text. */
  readonly slots: readonly { readonly recipe: StampRecipe; readonly offsets: readonly number[] }[];
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
  // A property that is there already is cheaper to write over than to add.
  return made.equals(b.plan.bytes) ? { plan: { ...a.plan, lease: undefined }, slots } : undefined;
}

/** The plan with the stamps of (`seed`, `now`): the same bytes as compiling it with them. */
export function stamp(template: PlanTemplate, seed: string, now: Date): WirePlan {
  const { plan } = template;
  const leased = plan.bytes.length <= MAX_LEASED_BYTES ? leasedCopyOf(plan.bytes) : undefined;
  const bytes = leased?.bytes ?? Buffer.from(plan.bytes);
  const write = stampWriter(seed, now);
  for (const { recipe, offsets } of template.slots) {
    if (widthOf(recipe) > codes.length) codes = new Uint8Array(widthOf(recipe));
    const length = write(recipe, codes);
    for (const at of offsets) overwrite(bytes, at, length);
  }
  return { ...plan, bytes, lease: leased?.lease };
}

/** The stamp that is being written. Stamps are short: a call out of JavaScript costs more than this loop. */
let codes = new Uint8Array(64);

function overwrite(bytes: Buffer, at: number, length: number): void {
  for (let i = 0; i < length; i++) bytes[at + i] = codes[i] ?? 0;
}
