import type { Asked, OwnFault } from '../asked.js';
import { draw } from '../fault/random.js';
import { drawnFor } from '../fault/rule-list.js';
import { type Facts, isUnconditional, keyValue, mismatch, needsBody } from '../fault/rules.js';
import { type Named, type Script, select } from '../fault/script.js';
import { isDue, type Stage } from '../fault/stage.js';
import type { ResolvedOptions } from '../options.js';
import type { Cursor } from '../selector.js';
import type { Ask, Candidate, Due, MissedRule, SharedRule } from './ask.js';

/** A rule of the shared list, with what its fault means here. */
export interface KnownRule extends SharedRule {
  readonly named: Named;
  readonly later: Named | undefined;
}

/** What this process knows of the shared rules. */
export interface KnownBook {
  readonly version: number;
  readonly rules: readonly KnownRule[];
}

export interface Asking {
  readonly stage: Stage;
  readonly asked: Asked;
  readonly own: OwnFault | undefined;
  /** `undefined`: it isn't known yet, and only what needs no lane can be taken. */
  readonly lane: string | undefined;
  readonly facts: Facts | undefined;
}

const ALWAYS: Due = { from: 1, bits: '', rest: '1' };
const NEVER: Due = { from: 1, bits: '', rest: '0' };

/** What the state is asked for a request. Pure. `guess`: how far the lane has come; `span`: numbers that are told from there. */
export function askOf(
  options: Pick<ResolvedOptions, 'script' | 'lanes'>,
  book: KnownBook,
  asking: Asking & { readonly lane: string; readonly laneKnown: boolean },
  guess: Cursor,
  span: number,
): Ask {
  const { stage, own, lane, facts } = asking;
  const attempt = guess.attempts + 1;
  const whole = asking.asked.body !== undefined;
  const common = { lane, version: book.version, connection: asking.asked.connection, path: facts?.path ?? '', whole };
  if (own) {
    const drawnAt = (number: number): Named | undefined =>
      draw(options.script.seed, lane, number, options.script.shares);
    const asked =
      stage === 'request'
        ? ALWAYS
        : own.named
          ? constant(isDue(own.named.fault, stage))
          : dueFrom(attempt, span, (number) => isNamedDue(drawnAt(number), stage));
    const word = own.named ? { word: own.named.name } : {};
    return { ...common, asked, ...word, source: own.source, rules: [], unsure: false, script: NEVER };
  }
  const tested = testRules(options.script.seed, book.rules, asking, attempt, span);
  const script =
    stage === 'request'
      ? ALWAYS
      : asking.laneKnown
        ? scriptDue(options.lanes.get(lane) ?? options.script, stage, lane, guess.position + 1, span)
        : NEVER;
  return { ...common, ...tested, script };
}

function testRules(
  seed: number,
  rules: readonly KnownRule[],
  { stage, asked, facts, lane }: Asking & { readonly lane: string },
  attempt: number,
  span: number,
): Pick<Ask, 'rules' | 'unsure'> {
  const tested: (Candidate | MissedRule)[] = [];
  const whole = asked.body !== undefined;
  for (const { id, spec, named, later, left } of rules) {
    const testable = whole || isUnconditional(spec) || (facts && !needsBody(spec));
    if (!testable) return { rules: tested, unsure: true };
    const why = facts ? mismatch(spec, facts) : undefined;
    if (why !== undefined) {
      tested.push({ id, why });
      continue;
    }
    const key = spec.key !== undefined && facts ? keyValue(spec.key, facts) : undefined;
    const chance =
      spec.probability === undefined
        ? {}
        : {
            below: spec.probability,
            from: attempt,
            drawn: Array.from({ length: span }, (_, n) => drawnFor(seed, id, lane, attempt + n)),
          };
    const due = { due: isDue(named.fault, stage), dueLater: isDue((later ?? named).fault, stage) };
    tested.push({ id, ...(key === undefined ? {} : { key }), ...due, ...chance });
    // Nothing behind a rule that is sure to be met is looked at.
    if (spec.probability === undefined && (key === undefined || left === null)) break;
  }
  return { rules: tested, unsure: false };
}

function scriptDue(script: Script, stage: Stage, lane: string, from: number, span: number): Due {
  const told = dueFrom(from, span, (position) => {
    const selection = select(script, lane, position, position);
    return selection.kind === 'behavior' && isDue(selection.fault, stage);
  });
  const { entries, repeatLast } = script;
  if (from + span <= entries.length) return told;
  if (!repeatLast) return { ...told, rest: '0' };
  const last = entries.at(-1)?.named;
  return last ? { ...told, rest: isDue(last.fault, stage) ? '1' : '0' } : told;
}

function constant(due: boolean): Due {
  return due ? ALWAYS : NEVER;
}

function dueFrom(from: number, span: number, isDueAt: (number: number) => boolean): Due {
  return { from, bits: Array.from({ length: span }, (_, n) => (isDueAt(from + n) ? '1' : '0')).join('') };
}

function isNamedDue(named: Named | undefined, stage: Stage): boolean {
  return named !== undefined && isDue(named.fault, stage);
}
