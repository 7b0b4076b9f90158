import { spawnSync } from 'node:child_process';
import { describe, expect, it, type TestContext } from 'vitest';
import { junitXml } from '../../src/report/junit.js';
import type { Report } from '../../src/report/report.js';
import { findingsOf } from '../../src/trial/findings.js';
import { HOSTILE } from './hostile.js';
import { ABSENT, FINDING, RETRIED, run, SAMPLES, SWEEP } from './samples.js';

/** What Python's parser (expat) reads: a row for each case. */
const READ = `
import sys, json, xml.etree.ElementTree as tree
rows = []
for suite in tree.fromstring(sys.stdin.buffer.read()):
    counts = {key: suite.get(key) for key in ('name', 'tests', 'failures', 'errors', 'skipped')}
    cases = [[case.get('name'), *[[one.tag, one.get('message'), one.get('type'), one.text] for one in case]] for case in suite.iter('testcase')]
    rows.append([counts, cases])
print(json.dumps(rows))
`;

type Row = [Record<string, string>, [string, ...[string, string | null, string | null, string | null][]][]];

function read(xml: string, ctx: TestContext): Row[] {
  const { status, stdout, stderr, error } = spawnSync('python3', ['-c', READ], { input: xml, encoding: 'utf8' });
  if (error) ctx.skip('python3 is not installed');
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return JSON.parse(stdout);
}

const report = (given: Partial<Report>): Report => ({
  sources: ['out'],
  records: [],
  evidence: new Map(),
  sweeps: [],
  idle: [],
  journals: [],
  ...given,
});

const MATRIX = report({ records: [...SAMPLES.map(({ record }) => record), ABSENT] });

describe('JUnit XML', () => {
  it('has a suite for each client and a case for each cell; clients that are not here are skipped', (ctx) => {
    const rows = read(junitXml(MATRIX, []), ctx);
    expect(rows.map(([counts]) => counts)).toEqual([
      { name: 'sdk', tests: '2', failures: '1', errors: '0', skipped: '0' },
      { name: 'tui', tests: '3', failures: '2', errors: '0', skipped: '0' },
      { name: 'absent', tests: '3', failures: '0', errors: '0', skipped: '3' },
    ]);
    const [sdk, tui, absent] = rows.map(([, cases]) => cases);
    expect(sdk?.[0]).toEqual(['F0']);
    expect(sdk?.[1]).toEqual(['F2', ['failure', expect.stringMatching(/^flaky /), 'silent', expect.any(String)]]);
    expect(sdk?.[1]?.[1]?.[3]).toContain('run 1: silent: exit code 0 and not a word (cells/sdk/F2/1)');
    expect(tui?.[1]?.[1]?.[3]).toContain('replay_after_output: exchange 1: 6 events');
    expect(absent?.[0]).toEqual(['F0', ['skipped', 'program absent not on PATH', null, null]]);
  });

  it('fails for the words that are asked for, and no others', (ctx) => {
    const failures = (words: readonly string[]): unknown[] =>
      read(junitXml(MATRIX, words), ctx).map(([counts]) => counts.failures);
    expect(failures(['hang'])).toEqual(['0', '1', '0']);
    expect(failures(['flaky', 'replay_after_output'])).toEqual(['1', '1', '0']);
  });

  it('has an error where nothing was proved', (ctx) => {
    const records = [run('a', 'F0', 'invalid').record];
    expect(read(junitXml(report({ records }), []), ctx)).toMatchObject([
      [{ errors: '1', failures: '0' }, [['F0', ['error', 'invalid', 'invalid', expect.any(String)]]]],
    ]);
    expect(read(junitXml(report({ records }), ['silent']), ctx)[0]?.[0].errors).toBe('0');
  });

  it('has a case for each teardown of a sweep', (ctx) => {
    expect(read(junitXml(report({ sweeps: [SWEEP] }), []), ctx)).toMatchObject([
      [
        { name: 'sweep sdk openai-chat', failures: '1' },
        [['eof', ['failure', 'silent', 'silent', 'silent 810 to 3,999']]],
      ],
    ]);
    expect(read(junitXml(report({ sweeps: [SWEEP] }), ['hang']), ctx)[0]?.[0].failures).toBe('0');
  });

  it('has the findings of a journal', (ctx) => {
    const journal = { source: 'j.jsonl', ledgers: RETRIED, exchanges: [], leftOut: [], findings: findingsOf(RETRIED) };
    const rows = read(junitXml(report({ journals: [journal, { ...journal, findings: [] }] }), []), ctx);
    expect(rows).toMatchObject([
      [
        { name: 'j.jsonl', failures: '1' },
        [['replay_after_output', ['failure', FINDING.advice, 'replay_after_output', expect.any(String)]]],
      ],
      [{ tests: '1', failures: '0' }, [['no findings']]],
    ]);
    const named = read(junitXml(report({ journals: [journal] }), ['hang']), ctx);
    expect(named[0]?.[0].failures).toBe('0');
  });

  it('is well-formed whatever the clients wrote', (ctx) => {
    const findings = [{ ...FINDING, evidence: [HOSTILE] }];
    const records = [
      run(HOSTILE, HOSTILE, 'silent', { because: HOSTILE, clientVersion: HOSTILE, findings }).record,
      { ...ABSENT, because: HOSTILE } as const,
    ];
    const [[counts, cases] = [undefined, []]] = read(junitXml(report({ records }), []), ctx);
    expect(counts?.name).toContain('</script><script>');
    expect(cases[0]?.[0]).toContain('<img src=x');
    expect(cases[0]?.[1]?.[3]).toContain('\\x1b[2J');
  });
});
