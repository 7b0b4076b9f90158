import { xml } from '../fault/explain-svg-text.js';
import { failingCells, tableOf } from '../trial/matrix-table.js';
import type { RanCell } from '../trial/results.js';
import type { Sweep } from '../trial/sweep-results.js';
import { sweepName, wordsMet } from './failing.js';
import type { Report, ReportedJournal } from './report.js';
import { markWords } from './sweep-words.js';

/**
 * A report as JUnit XML, which CI reads: a suite for each client, a case for each cell of its row; a suite for each
 * sweep, a case for each teardown; a suite for each journal, a case for each kind of finding in it. Written by hand, since it is three elements with attributes, and since
 * `xml` already makes any text well-formed (also control characters, which a library for XML would refuse or drop). Pure.
 */

/** Words that make a case fail where `--fail-on` names none: `invalid` too, or nothing proved would be green. */
const JUNIT_DEFAULT: readonly string[] = ['silent', 'duplicated', 'looping', 'hang', 'crash', 'invalid'];

interface Case {
  readonly name: string;
  readonly seconds: number;
  /** What its element holds, beside nothing. */
  readonly result: string;
  readonly kind: 'passed' | 'failure' | 'error' | 'skipped';
}

/** @param failOn words of `--fail-on`; none: `JUNIT_DEFAULT`, and of a journal all findings */
export function junitXml(report: Report, failOn: readonly string[]): string {
  const suites = [
    ...matrixSuites(report, failOn),
    ...report.sweeps.map((sweep) => sweepSuite(sweep, failOn)),
    ...report.journals.map((journal) => journalSuite(journal, failOn)),
  ];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites name="wirefault">',
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

function matrixSuites({ records }: Report, failOn: readonly string[]): string[] {
  const { faults, rows, notRun } = tableOf(records);
  const met = failingCells(records, orDefault(failOn));
  const suites = rows.map(({ client, version, cells }) => {
    const cases = [...cells].map(([fault, { text, runs }]): Case => {
      const words = met.find((one) => one.client === client && one.fault === fault)?.words ?? [];
      const seconds = runs.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1000;
      if (words.length === 0) return { name: fault, seconds, result: '', kind: 'passed' };
      // Of an invalid run nothing follows, which is what an error is: the test could not be made.
      const kind = words.every((word) => word === 'invalid') ? 'error' : 'failure';
      const result = element(kind, { message: text, type: words.join(',') }, whyOf(runs));
      return { name: fault, seconds, result, kind };
    });
    return suite(client, cases, { timestamp: dateOf(cells), version: version ?? 'tells none' });
  });
  const absent = notRun.map(({ client, because, date }) =>
    suite(
      client,
      (faults.length > 0 ? faults : ['all']).map(
        (name): Case => ({ name, seconds: 0, result: element('skipped', { message: because }), kind: 'skipped' }),
      ),
      { timestamp: date },
    ),
  );
  return [...suites, ...absent];
}

function orDefault(failOn: readonly string[]): readonly string[] {
  return failOn.length > 0 ? failOn : JUNIT_DEFAULT;
}

function sweepSuite(sweep: Sweep, failOn: readonly string[]): string {
  const { teardowns, durationMs, date, clientVersion } = sweep;
  const cases = teardowns.map((one): Case => {
    // They were cut in turn, and nobody has counted their times apart.
    const seconds = durationMs / 1000 / teardowns.length;
    const words = wordsMet(one, orDefault(failOn));
    if (words.length === 0) return { name: one.teardown, seconds, result: '', kind: 'passed' };
    const ranges = one.ranges.filter(({ verdict }) => words.includes(verdict));
    const result = element('failure', { message: words.join(', '), type: words.join(',') }, markWords(ranges));
    return { name: one.teardown, seconds, result, kind: 'failure' };
  });
  return suite(sweepName(sweep), cases, { timestamp: date, version: clientVersion ?? 'tells none' });
}

function dateOf(cells: ReadonlyMap<string, { readonly runs: readonly RanCell[] }>): string | undefined {
  return [...cells.values()].flatMap(({ runs }) => runs.map(({ date }) => date)).toSorted()[0];
}

function whyOf(runs: readonly RanCell[]): string {
  return runs
    .flatMap(({ repeat, verdict, because, dir, findings }) => [
      `run ${repeat}: ${verdict}: ${because} (${dir})`,
      ...findings.map(({ kind, evidence }) => `  ${kind}: ${evidence.join('; ')}`),
    ])
    .join('\n');
}

function journalSuite({ source, findings }: ReportedJournal, failOn: readonly string[]): string {
  const kinds = [...new Set(findings.map(({ kind }) => kind))];
  const cases = kinds.map((kind): Case => {
    const of = findings.filter((finding) => finding.kind === kind);
    const fails = failOn.length === 0 || failOn.includes(kind);
    const text = of.map(({ evidence }) => evidence.join('; ')).join('\n');
    const message = of[0]?.advice ?? '';
    return fails
      ? { name: kind, seconds: 0, result: element('failure', { message, type: kind }, text), kind: 'failure' }
      : { name: kind, seconds: 0, result: element('system-out', {}, text), kind: 'passed' };
  });
  // A suite without cases is taken for one that was not run.
  const none: Case = { name: 'no findings', seconds: 0, result: '', kind: 'passed' };
  return suite(source, cases.length > 0 ? cases : [none], {});
}

interface SuiteFacts {
  readonly timestamp?: string | undefined;
  readonly version?: string;
}

function suite(name: string, cases: readonly Case[], { timestamp, version }: SuiteFacts): string {
  const count = (kind: Case['kind']): string => String(cases.filter((one) => one.kind === kind).length);
  const body = cases.map((one) =>
    element('testcase', { classname: name, name: one.name, time: one.seconds.toFixed(3) }, undefined, one.result),
  );
  const facts =
    version === undefined
      ? []
      : [element('properties', {}, undefined, element('property', { name: 'version', value: version }))];
  const attributes = {
    name,
    tests: String(cases.length),
    failures: count('failure'),
    errors: count('error'),
    skipped: count('skipped'),
    time: cases.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3),
    // Without a zone, as the schema of Jenkins wants it.
    ...(timestamp === undefined ? {} : { timestamp: timestamp.slice(0, 19) }),
  };
  return element('testsuite', attributes, undefined, `\n${[...facts, ...body].join('\n')}\n`);
}

/** @param text is escaped; `inner` is XML already */
function element(name: string, attributes: Readonly<Record<string, string>>, text = '', inner = ''): string {
  const all = Object.entries(attributes).map(([key, value]) => ` ${key}="${xml(value)}"`);
  const content = inner + text.split('\n').map(xml).join('\n');
  return content === '' ? `<${name}${all.join('')}/>` : `<${name}${all.join('')}>${content}</${name}>`;
}
