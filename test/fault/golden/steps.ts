import { createHash } from 'node:crypto';
import type { Step, WirePlan } from '../../../src/fault/wire-plan.js';

/**
 * The steps of a plan in one line. A write is the number of its bytes: where it starts is where the one before ended.
 * Of many steps those in the middle are left out, with digits of their hash in their place.
 */

const MOST_STEPS = 14;
const SHOWN_AT_START = 8;
const SHOWN_AT_END = 4;
const HASH_DIGITS = 6;

function stepText(step: Step, at: number): string {
  switch (step.op) {
    case 'write':
      return `${step.start === at ? '' : `at ${step.start} `}${step.end - step.start} B`;
    case 'wait':
      return `${step.ms} ms`;
    case 'pulse':
      return `${step.end - step.start} B every ${step.everyMs} ms ${Number.isFinite(step.times) ? `${step.times} times` : 'for ever'}`;
    case 'gate':
      return `gate ${step.name}`;
    case 'settle':
      return `until ${step.until}, ${step.timeoutMs} ms at most`;
    case 'teardown':
      return `${step.kind}${step.unread ? ' with the request unread' : ''}`;
    default:
      return step satisfies never;
  }
}

/** Pairs that come again and again as one: `87 x (16 B, 2 ms)`. */
function folded(texts: readonly string[]): string[] {
  const out: string[] = [];
  let at = 0;
  while (at < texts.length) {
    const [first = '', second] = texts.slice(at, at + 2);
    let times = 1;
    while (second !== undefined && texts[at + 2 * times] === first && texts[at + 2 * times + 1] === second) times++;
    out.push(times > 1 ? `${times} x (${first}, ${second})` : first);
    at += times > 1 ? 2 * times : 1;
  }
  return out;
}

export function stepsLine({ steps }: WirePlan): string {
  let at = 0;
  const texts = steps.map((step) => {
    const text = stepText(step, at);
    if ('end' in step) at = step.end;
    return text;
  });
  const all = folded(texts);
  if (all.length <= MOST_STEPS) return all.join(', ');
  const left = all.slice(SHOWN_AT_START, -SHOWN_AT_END);
  const hash = createHash('sha256').update(left.join()).digest('hex').slice(0, HASH_DIGITS);
  return [...all.slice(0, SHOWN_AT_START), `… ${left.length} more ${hash} …`, ...all.slice(-SHOWN_AT_END)].join(', ');
}
