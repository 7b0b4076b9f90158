import { expect, it } from 'vitest';
import { problemsOf } from '../../src/fault/contradictions.js';
import { isPosition, offsetOf, POSITION_FORMS, type Position } from '../../src/fault/position.js';
import { CUT_TEARDOWNS, type CutTeardown, type FaultSpec } from '../../src/fault/spec.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import { PROTOCOLS } from '../../src/sse/dialect.js';
import { type SweepAnswer, type SweepCut, sweep, wholeAnswer } from '../support/sweep.js';

/**
 * Every form of position at real sockets, with the first numbers that an answer reaches, the last, and some between. All
 * bytes of all answers: test/slow/sweep.
 */

/** Where something of the answer is cut, and not the request (wire/early). */
const FORMS = POSITION_FORMS.filter((form) => form !== 'accept' && form !== 'request:K');

const TOOL_CALL: FaultSpec = { answer: { kind: 'turn', turn: { text: 'none', toolCalls: 1, finish: 'tool_calls' } } };
const CRLF: FaultSpec = { sse: { eol: 'crlf' } };

/** An answer, and the forms of position that are looked for in it. */
interface Row {
  readonly answer: SweepAnswer;
  readonly forms: readonly string[];
}

/** Answers that have all the places together: a text, and what a text has not. */
const ROWS = PROTOCOLS.flatMap((protocol): Row[] => {
  const text = FORMS.filter((form) => form !== 'tool_args:N' && form !== 'eol:N.mid');
  return [
    { answer: { protocol, stream: true, fault: {} }, forms: text },
    { answer: { protocol, stream: false, fault: {} }, forms: text },
    { answer: { protocol, stream: true, fault: TOOL_CALL }, forms: ['tool_args:N'] },
    { answer: { protocol, stream: false, fault: TOOL_CALL }, forms: ['tool_args:N'] },
    { answer: { protocol, stream: true, fault: CRLF }, forms: ['eol:N.mid'] },
  ];
});

/** Of the numbers that are reached, which are all from the first to a last one: the ends, their neighbours, the middle. */
function sample(isReached: (n: number) => boolean): number[] {
  const first = [0, 1].find(isReached);
  if (first === undefined) return [];
  let last = first;
  let step = 1;
  while (isReached(last + step)) {
    last += step;
    step *= 2;
  }
  for (; step >= 1; step = Math.floor(step / 2)) if (isReached(last + step)) last += step;
  const wanted = [first, first + 1, Math.floor((first + last) / 2), last - 1, last];
  return [...new Set(wanted.filter((n) => n >= first && n <= last))];
}

interface Place {
  readonly position: Position;
  readonly offset: number;
}

/** Places of a form in an answer. */
function placesOf(form: string, plan: WirePlan): Place[] {
  const at = (n: number | undefined, k: number | undefined): Place | undefined => {
    const position = form.replace(/\bN\b/, String(n)).replace(/\bK\b/, String(k));
    if (!isPosition(position)) throw new Error(`${position} is no position`);
    const offset = offsetOf(position, plan);
    return offset === undefined ? undefined : { position, offset };
  };
  const hasN = /\bN\b/.test(form);
  const hasK = /\bK\b/.test(form);
  const lowestK = hasK ? [0, 1] : [undefined];
  const reached = (n: number | undefined): boolean => lowestK.some((k) => at(n, k) !== undefined);
  const ns = hasN ? sample(reached) : [undefined];
  return ns.flatMap((n) => (hasK ? sample((k) => at(n, k) !== undefined) : [undefined]).flatMap((k) => at(n, k) ?? []));
}

/** Each place gets some teardowns, the next place the next ones. */
const TEARDOWNS_A_PLACE = 2;
const turns = new Map<string, number>();

function nextTeardown(form: string, position: Position): CutTeardown {
  const allowed = CUT_TEARDOWNS.filter((teardown) => problemsOf({ cut: { at: position, teardown } }).length === 0);
  const turn = turns.get(form) ?? 0;
  turns.set(form, turn + 1);
  return allowed[turn % allowed.length] ?? 'rst';
}

interface Planned extends SweepCut {
  readonly form: string;
}

function cutsOf({ answer, forms }: Row): Planned[] {
  const plan = wholeAnswer(answer);
  return forms.flatMap((form) =>
    placesOf(form, plan).flatMap((place) =>
      Array.from({ length: TEARDOWNS_A_PLACE }, () => ({
        form,
        teardown: nextTeardown(form, place.position),
        ...place,
      })),
    ),
  );
}

const SWEEPS = ROWS.map((row) => ({ answer: row.answer, cuts: cutsOf(row) }));

it('every form of position is cut by each teardown that it can have', () => {
  const cuts = SWEEPS.flatMap((one) => one.cuts);
  const missing = FORMS.flatMap((form) => {
    const own = cuts.filter((cut) => cut.form === form);
    const [first] = own;
    const used = new Set(own.map(({ teardown }) => teardown));
    const inBody = first && problemsOf({ cut: { at: first.position, teardown: 'eof' } }).length === 0;
    return CUT_TEARDOWNS.filter((teardown) => !used.has(teardown) && (inBody || teardown !== 'eof')).map(
      (teardown) => `${teardown}@${form}`,
    );
  });
  expect(missing).toEqual([]);
});

for (const { answer, cuts } of SWEEPS) {
  const what = answer.stream ? 'as a stream' : 'as a JSON body';
  const { fault } = answer;
  const how = fault === TOOL_CALL ? ', a tool call' : fault === CRLF ? ', lines in CRLF' : '';
  it(`${answer.protocol} ${what}${how}: ${cuts.length} cuts`, async () => {
    expect((await sweep(answer, cuts)).slice(0, 10)).toEqual([]);
  });
}
