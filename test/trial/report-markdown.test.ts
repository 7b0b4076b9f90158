import { describe, expect, it } from 'vitest';
import { failing, tableOf } from '../../src/trial/matrix-table.js';
import { matrixMarkdown } from '../../src/trial/report-markdown.js';
import type { CellRecord } from '../../src/trial/results.js';
import { ran, STAMPS } from './support/records.js';

const FINDING = { kind: 'no_backoff', exchanges: [1, 2], evidence: ['pauses of 1 ms'], advice: 'Wait.' } as const;

const RECORDS: readonly CellRecord[] = [
  { ...STAMPS, kind: 'not_run', client: 'absent', because: 'program absent not on PATH', install: null },
  { ...STAMPS, kind: 'not_run', client: 'a', because: 'not there before', install: null },
  ran('a', 'F0', 'complete'),
  ran('a', 'F1+', 'hang', { control: true }),
  ran('a', 'F1', 'silent'),
  ran('a', 'F1', 'silent', { repeat: 2, foreign: ['x.example'] }),
  ran('a', 'F1', 'detected', { repeat: 3, findings: [FINDING], requests: { main: 4, auxiliary: 0 } }),
  ran('b', 'F0', 'complete'),
];

describe('the table of a matrix', () => {
  it('has clients and faults, with repeats as one, and without controls', () => {
    const { faults, rows, notRun } = tableOf(RECORDS);
    expect(faults).toEqual(['F0', 'F1']);
    expect(rows.map(({ client, cells }) => [client, ...[...cells.values()].map(({ text }) => text)])).toEqual([
      ['a', 'complete', 'flaky silent 2/3'],
      ['b', 'complete'],
    ]);
    // What was installed since then has run.
    expect(notRun.map(({ client }) => client)).toEqual(['absent']);
  });

  it.each([
    [['silent'], ['a F1: silent']],
    [
      ['flaky', 'no_backoff'],
      ['a F1: flaky', 'a F1: no_backoff'],
    ],
    [['hang', 'crash'], []],
    [[], []],
  ])('--fail-on %j', (words, met) => {
    expect(failing(RECORDS, words)).toEqual(met);
  });

  it('as Markdown', () => {
    const text = matrixMarkdown(RECORDS);
    expect(text).toContain('| client | F0 | F1 |\n| --- | --- | --- |\n| `a` | complete | **flaky silent 2/3** |\n');
    expect(text).toContain('| `b` | complete | - |\n| `absent` | N/A | N/A |\n');
    expect(text).toContain('5 runs and 1 control, 2026-11-30, linux x64, Node v20.20.2, wirefault 0.1.0.');
    expect(text).toContain('| `a` | a 1.0 | 2026-11-30 | namespace | x.example |');
    expect(text).toContain('| `absent` | program absent not on PATH |');
    expect(text).toContain('| `a` | F1 | flaky silent 2/3 | 1, 4 | a \\| b |');
    expect(text).toContain('| `a` | no backoff | 1 (F1) | pauses of 1 ms |');
  });

  it('of nothing', () => {
    expect(matrixMarkdown([])).toContain('Nothing was run.');
  });
});
