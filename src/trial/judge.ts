import { withoutBlocks } from '../fault/content-blocks.js';
import type { Ledger } from '../proof/ledger.js';
import { plural } from '../proof/paint.js';
import type { Judgement, RunEvidence, Verdict } from './evidence.js';
import { folded, isWhole, type ShownBlocks, shownBlocks } from './shown-blocks.js';

/**
 * The verdict on one run: from what the journal proves and what the client showed, never from the number of its requests
 * or from free text alone. Pure.
 */
export interface Trial {
  readonly run: RunEvidence;
  /** The fault is none: the client's healthy control. */
  readonly healthy: boolean;
  /** The run under the fault's positive control; `undefined` where the fault has none. */
  readonly control: RunEvidence | undefined;
  /** Its run when all is well: what it says there is no sign of anything. */
  readonly usual: RunEvidence | undefined;
}

type Rule = (trial: Trial, blocks: ShownBlocks) => Judgement | undefined;

/** The first that has something to say gives the verdict. */
const RULES: readonly Rule[] = [
  unproved,
  capped,
  timedOut,
  crashed,
  healthyControl,
  unwell,
  toldError,
  wholeAnswer,
  warned,
  unnoticedControl,
  silent,
];

export function judge(trial: Trial): Judgement {
  const { main } = trial.run;
  const blocks = shownBlocks(trial.run.shown, main);
  for (const rule of RULES) {
    const found = rule(trial, blocks);
    if (found) return found;
  }
  throw new Error('the last rule always has something to say');
}

function verdict(name: Verdict, because: string): Judgement {
  return { verdict: name, because };
}

/** Whether the ledger proves that the client got what comes before the fault. */
export function reached(ledger: Ledger): boolean {
  const { bytes, outcome, teardown, lost, terminal, cut, settled, events } = ledger;
  if (['server_error', 'cut_unreached', 'server_closed'].includes(outcome)) return false;
  // Behind the protocol's end, or an error, there is nothing to wait for: many clients go then.
  const counts = Object.values(events);
  const allCame = counts.length > 0 && counts.every((one) => Math.max(one.acked ?? 0, one.read ?? 0) >= one.planned);
  if (cut === null && (terminal?.delivered || allCame)) return true;
  // A reset takes away what the client's program hasn't read.
  if (teardown.kind === 'rst' && settled && !settled.reached) return false;
  if (teardown.kind === 'none') return outcome === 'stalled';
  if (bytes.written === 0) return true;
  if (teardown.kind === 'rst_now') return true;
  return bytes.read === null ? (bytes.acked ?? 0) >= bytes.written : lost === 0;
}

function unproved({ run, healthy }: Trial): Judgement | undefined {
  const [first] = run.main;
  if (!first) {
    return verdict('invalid', 'no main request reached the server');
  }
  if (healthy || reached(first)) return undefined;
  return verdict(
    'invalid',
    `the ledger of exchange ${first.exchange} does not prove that the fault reached the client (${first.outcome})`,
  );
}

function capped({ run }: Trial): Judgement | undefined {
  return run.capped ? verdict('looping', `${run.main.length} main requests, and no end`) : undefined;
}

function timedOut({ run }: Trial): Judgement | undefined {
  if (!run.timedOut) return undefined;
  const requests = run.main.length;
  const doing = run.open.length > 0 ? 'still connected' : 'still retrying, or waiting for something else';
  return verdict('hang', `no end within ${run.durationMs} ms, ${doing} (${requests} main requests)`);
}

/** How runtimes say that a program died of something that it did not catch. */
const UNCAUGHT = /\n\s*Node\.js v\d|Traceback \(most recent call last\)|panicked at |UnhandledPromiseRejection/;

function crashed({ run }: Trial): Judgement | undefined {
  if (run.signal !== null) return verdict('crash', `ended by ${run.signal}`);
  if (run.exitCode !== null && run.exitCode >= 128) return verdict('crash', `exit code ${run.exitCode}`);
  return run.exitCode !== 0 && UNCAUGHT.test(run.stderr) ? verdict('crash', 'an error that nothing caught') : undefined;
}

function healthyControl({ run, healthy }: Trial, blocks: ShownBlocks): Judgement | undefined {
  if (!healthy) return undefined;
  const whole = run.main.some((ledger) => isWhole(ledger, blocks));
  if (run.exitCode === 0 && whole) return verdict('complete', 'the whole answer was shown');
  return verdict('invalid', `the healthy answer was not shown whole (exit code ${run.exitCode})`);
}

/** A client that fails when all is well tells nothing by failing otherwise. */
function unwell({ usual }: Trial): Judgement | undefined {
  if (!usual) return undefined;
  const control = judge({ run: usual, healthy: true, control: undefined, usual: undefined });
  return control.verdict === 'complete' ? undefined : verdict('invalid', `its healthy control: ${control.because}`);
}

function toldError({ run }: Trial): Judgement | undefined {
  if (run.structuredError !== null) return verdict('detected', `it says: ${clipped(run.structuredError)}`);
  if (run.exitCode === 0) return undefined;
  const said = telling(run.stderr) || telling(run.stdout);
  return verdict('detected', `exit code ${run.exitCode}${said ? `: ${clipped(said)}` : ', without a word'}`);
}

/** It showed a whole answer: that of a later request, or what the fault left whole. */
function wholeAnswer({ run }: Trial, blocks: ShownBlocks): Judgement | undefined {
  // Of the first one all text may have come, and only the protocol's end be missing: that it has to say.
  const whole = run.main.slice(1).filter((ledger) => isWhole(ledger, blocks));
  if (whole.length === 0) return undefined;
  const others = run.main.filter(
    (ledger) => !whole.includes(ledger) && (blocks.byExchange.get(ledger.exchange) ?? []).length > 0,
  );
  const twice = whole.some(
    ({ exchange, blocks: told }) => (blocks.byExchange.get(exchange) ?? []).length > (told?.told ?? 0),
  );
  if (others.length > 0) {
    return verdict(
      'duplicated',
      `the whole answer of exchange ${whole[0]?.exchange}, and text of exchange ${others[0]?.exchange} beside it`,
    );
  }
  if (whole.length > 1 || twice) return verdict('duplicated', 'the whole answer was shown more than once');
  return verdict('recovered', `it asked again, and showed exchange ${whole[0]?.exchange} whole, once`);
}

/** A client's own words for an answer that isn't whole, once the mock's are taken out. */
const WARNING =
  /\b(error|errors|fail(?:ed|ure)?|truncat\w*|incomplete\w*|interrupt\w*|disconnect\w*|terminated|aborted|cut (?:off|short)|lost connection|connection (?:was )?(?:lost|closed|reset)|unexpected(?:ly)?|timed? ?out|max(?:imum)?[ _]?(?:output[ _])?tokens?|token limit|output limit|length limit|ended (?:early|without|before)|retry(?:ing)?|reconnect\w*|warning)\b/gi;

function warned({ run, usual }: Trial): Judgement | undefined {
  const said = warningOf(run, usual);
  return said === undefined ? undefined : verdict('detected', `exit code 0, but it says ${JSON.stringify(said)}`);
}

/** A word of warning that it doesn't say when all is well. */
function warningOf(run: RunEvidence, usual: RunEvidence | undefined): string | undefined {
  const known = new Set(usual ? warningsIn(run === usual ? '' : ownWords(usual)) : []);
  const lines = new Set(usual ? usual.stderr.split('\n').map(sameWithOtherNumbers) : []);
  const told = run.stderr.split('\n').filter((line) => !lines.has(sameWithOtherNumbers(line)));
  return (
    warningsIn(ownWords(run)).find((word) => !known.has(word)) ?? warningsIn(withoutBlocks(folded(told.join('\n'))))[0]
  );
}

function ownWords(run: RunEvidence): string {
  return shownBlocks(run.shown, run.main).ownWords;
}

function warningsIn(text: string): string[] {
  return [...text.matchAll(WARNING)].map(([word]) => word.toLowerCase());
}

function sameWithOtherNumbers(line: string): string {
  return line.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|\d+/g, '0').trim();
}

/** A client that doesn't even notice the provider's own error says nothing by its silence. */
function unnoticedControl({ control, usual }: Trial): Judgement | undefined {
  if (!control) return undefined;
  const noticed =
    control.exitCode !== 0 ||
    control.structuredError !== null ||
    control.main.length > 1 ||
    warningOf(control, usual) !== undefined;
  return noticed ? undefined : verdict('invalid', 'the positive control was not noticed either');
}

function silent({ run }: Trial, blocks: ShownBlocks): Judgement {
  const [first] = run.main;
  const shown = new Set(blocks.byExchange.get(first?.exchange ?? 0)).size;
  const why =
    first?.terminal?.delivered !== true
      ? `the end of the answer never came (${plural(shown, 'paragraph')} shown)`
      : `the answer was not whole (${plural(shown, 'paragraph')} shown)`;
  return verdict('silent', `exit code 0 and not a word, although ${why}`);
}

/** The last line in words of its own, one with a warning if there is any. */
function telling(text: string): string {
  const lines = text.split('\n').map((line) => withoutBlocks(folded(line)).trim());
  return (
    lines.findLast((line) => warningsIn(line).length > 0) ?? lines.findLast((line) => /\p{L}{3}/u.test(line)) ?? ''
  );
}

function clipped(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}

/** The verdicts of a cell's repeats as one. */
export function agreed(verdicts: readonly Verdict[]): string {
  const counts = new Map<Verdict, number>();
  for (const one of verdicts) counts.set(one, (counts.get(one) ?? 0) + 1);
  const [[most, count] = ['invalid', 0] as const] = [...counts].toSorted((a, b) => b[1] - a[1]);
  return count === verdicts.length ? most : `flaky ${most} ${count}/${verdicts.length}`;
}
