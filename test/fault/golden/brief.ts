import type { Behavior } from '../../../src/fault/catalogue.js';
import { planSha256 } from '../../../src/fault/explain.js';
import type { IdlePlan, WirePlan } from '../../../src/fault/wire-plan.js';
import { insideOf } from '../../../src/proof/account.js';
import { stepsLine } from './steps.js';
import { compressedLines, wireLines } from './wire.js';

/**
 * A behavior's plan as a reviewer wants it: a few lines below its name, which stands at the margin, so that a diff names
 * the behavior of each change.
 */

const HASH_DIGITS = 12;

/** Compressed bytes, and so their number, are those of the zlib at hand. */
const isCompressed = ({ fault }: Behavior): boolean => fault.encoding !== undefined && fault.encoding !== 'gzip_lie';

function idleLine({ stray, teardown, afterMs, onRequest }: IdlePlan): string {
  const when =
    onRequest === undefined ? (afterMs === undefined ? [] : [`after ${afterMs} ms`]) : [`at request ${onRequest}`];
  const bytes = stray ? [`${stray.bytes.length} stray B${stray.afterMs > 0 ? ` after ${stray.afterMs} ms` : ''}`] : [];
  return `then  ${[...bytes, ...(teardown ? [[teardown, ...when].join(' ')] : [])].join(', ')}`;
}

function jsonLine(name: string, value: unknown): string[] {
  return value === undefined ? [] : [`${name.padEnd(5)} ${JSON.stringify(value).replaceAll('"', '').slice(1, -1)}`];
}

function titleOf(behavior: Behavior, plan: WirePlan): string {
  const hash = plan.bytes.length === 0 ? '' : ` ${planSha256(plan).slice(0, HASH_DIGITS)}`;
  const size = isCompressed(behavior) ? 'as long as zlib makes it' : `${plan.bytes.length} B${hash}`;
  const unapplied = plan.unapplied.length > 0 ? `, without its ${plan.unapplied.join(' and ')}` : '';
  return `${behavior.name}: ${size}${unapplied}`;
}

function linesOf(behavior: Behavior, plan: WirePlan): string[] {
  const { fault } = behavior;
  const cut = plan.cut && `${plan.cut.position} = ${plan.cut.offset}, ${insideOf(plan, plan.cut.offset)}`;
  return [
    ...jsonLine('read', fault.request),
    ...(cut === undefined ? [] : [`cut   ${cut}`]),
    `steps ${stepsLine(plan)}`,
    ...(plan.idle ? [idleLine(plan.idle)] : []),
    ...(plan.bytes.length === 0 ? [] : isCompressed(behavior) ? compressedLines(plan) : wireLines(plan)),
  ];
}

/** `plan` is `undefined` for a behavior of the port, which has no bytes. */
export function briefOf(behavior: Behavior, plan: WirePlan | undefined): string {
  if (!plan) return [`${behavior.name}: no connection`, ...jsonLine('port', behavior.fault.listen)].join('\n  ');
  const brief = [titleOf(behavior, plan), ...linesOf(behavior, plan)].join('\n  ');
  return isCompressed(behavior) ? brief.replaceAll(/\b\d+ B\b|(?<=Content-Length: )\d+/g, '?') : brief;
}
