import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/proof/ledger.js';
import { loadReport } from '../../src/report/load.js';
import { JOURNAL_LIMITS } from '../../src/report/load-journal.js';
import { loadRun } from '../../src/report/load-run.js';
import { serve } from '../support/server.js';
import { folder } from '../trial/support/little.js';
import { ran } from '../trial/support/records.js';
import { ABSENT, ANSWER, broken, everything, exchange, IDLE, matrixFolder, run, SAMPLES, SWEEP } from './samples.js';

const OPTIONS = { evidence: true, bytesDir: undefined, controlToken: undefined };

describe('a folder', () => {
  it('has a matrix with its evidence, sweeps and idle tables', async () => {
    const dir = await everything();
    const report = await loadReport([dir], OPTIONS);
    expect(report.records).toEqual([...SAMPLES.map(({ record }) => record), ABSENT]);
    expect(report.sweeps).toEqual([SWEEP]);
    expect(report.idle).toEqual([IDLE]);
    const details = new Map([...report.evidence].map(([{ dir: where }, detail]) => [where, detail]));
    expect(details.get('cells/sdk/F2/1')).toMatchObject({ kind: 'found', main: [{ status: 200 }], framesBefore: 0 });
    expect(details.get('cells/tui/F2/1')).toMatchObject({
      framesBefore: 1,
      frames: [{ ms: 800 }, { ms: 1600, text: { head: '> tell me\n\nonce and once again' } }],
    });
    expect(details.get('cells/tui/F3/1')).toMatchObject({ kind: 'missing', why: expect.stringContaining('ENOENT') });
  });

  it('is read without evidence where nobody shows it', async () => {
    const report = await loadReport([await everything()], { ...OPTIONS, evidence: false });
    expect(report.evidence.size).toBe(0);
  });

  it('finds idle tables in the folders within it, and joins several sources', async () => {
    const dir = await folder();
    await mkdir(join(dir, 'one'));
    await writeFile(join(dir, 'one', 'idle.json'), JSON.stringify(IDLE));
    const report = await loadReport([dir, await matrixFolder([run('a', 'F0', 'complete')])], OPTIONS);
    expect([report.idle.length, report.records.length]).toEqual([1, 1]);
  });

  it('of nothing is refused, and so is one that is not there', async () => {
    const dir = await folder();
    await expect(loadReport([dir], OPTIONS)).rejects.toThrow('nothing to report: expected results.jsonl');
    await expect(loadReport([join(dir, 'x')], OPTIONS)).rejects.toThrow('ENOENT');
  });
});

describe('the evidence of a run', () => {
  it('is looked for in the folder and nowhere else', async () => {
    const outside = await matrixFolder([run('a', 'F0', 'complete', {}, { evidence: { stdout: 'secret' } })]);
    const dir = join(outside, 'within');
    for (const where of ['../cells/a/F0/1', join(outside, 'cells/a/F0/1')]) {
      expect(await loadRun(dir, ran('a', 'F0', 'complete', { dir: where }))).toMatchObject({
        kind: 'missing',
        why: expect.stringContaining('outside of the folder'),
      });
    }
  });

  it('is cut where it is long', async () => {
    const stdout = `begin${'x'.repeat(100_000)}end`;
    const dir = await matrixFolder([run('a', 'F0', 'complete', {}, { evidence: { stdout } })]);
    const detail = await loadRun(dir, ran('a', 'F0', 'complete', { dir: 'cells/a/F0/1' }));
    expect(detail).toMatchObject({
      stdout: {
        head: expect.stringMatching(/^begin/),
        leftOut: 100_008 - 3000,
        tail: expect.stringMatching(/end$/),
      },
    });
  });
});

async function journalOf(...lines: readonly (Ledger | string)[]): Promise<string> {
  const file = join(await folder(), 'journal.jsonl');
  await writeFile(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  return file;
}

describe('a journal', () => {
  it('is reported of its last run, and says what is left out', async () => {
    const file = await journalOf(exchange(), exchange({ exchange: 3 }), exchange({ exchange: 2 }), broken(), 'no JSON');
    const { journals } = await loadReport([file], OPTIONS);
    expect(journals).toMatchObject([
      {
        ledgers: [{ exchange: 1, outcome: 'reset' }],
        leftOut: [
          '3 exchanges of earlier runs in the same file',
          expect.stringMatching(/^1 line that can't be read as a ledger \(line 5: not JSON/),
          expect.stringContaining('not captured'),
        ],
      },
    ]);
  });

  it('is reported in order, of its newest exchanges', async () => {
    const count = JOURNAL_LIMITS.ledgers + 3;
    const body = { ...exchange().request, bodySha256: null } as Ledger['request'];
    const all = Array.from({ length: count }, (_, n) =>
      exchange({ exchange: n + 1, connection: n + 1, request: body }),
    );
    const { journals } = await loadReport([await journalOf(...all)], OPTIONS);
    expect(journals[0]?.ledgers).toHaveLength(JOURNAL_LIMITS.ledgers);
    expect(journals[0]?.ledgers[0]?.exchange).toBe(4);
    expect(journals[0]?.exchanges.at(-1)?.ledger.exchange).toBe(count);
    expect(journals[0]?.exchanges).toHaveLength(JOURNAL_LIMITS.exchanges);
    expect(journals[0]?.leftOut[0]).toBe('3 older exchanges of the same run');
  });

  it('has findings out of the bytes beside it', async () => {
    const times = exchange().times;
    const file = await journalOf(
      exchange({ times: { ...times, requestAt: '2026-11-30T20:00:00.000Z' } }),
      exchange({ exchange: 2, times: { ...times, requestAt: '2026-11-30T20:00:00.100Z' } }),
    );
    await mkdir(join(file, '..', 'bytes'));
    const limited = 'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n';
    await writeFile(join(file, '..', 'bytes', '000001.response'), limited);
    await writeFile(join(file, '..', 'bytes', '000002.response'), ANSWER.bytes);
    const { journals } = await loadReport([file], OPTIONS);
    expect(journals[0]?.findings).toMatchObject([{ kind: 'retry_after_ignored', exchanges: [1, 2] }]);
    expect(journals[0]?.exchanges.map(({ status }) => status)).toEqual([429, 200]);
    expect(journals[0]?.leftOut).toEqual([]);
  });

  it('is refused where no line is one', async () => {
    await expect(loadReport([await journalOf('{}')], OPTIONS)).rejects.toThrow(/not a journal: line 1/);
  });
});

const ASKED = JSON.stringify({ model: 'gpt-5.4', stream: true, messages: [{ role: 'user', content: 'hello' }] });

describe('a live server', () => {
  it('tells what the library tells', async () => {
    const server = await serve({ sequence: ['rate_limit', 'success'], retryAfterMs: 60_000 });
    for (let n = 0; n < 2; n++) {
      const response = await fetch(`${server.baseURL}/v1/chat/completions`, { method: 'POST', body: ASKED });
      await response.text();
      await server.idle();
    }
    const { journals } = await loadReport([server.baseURL], OPTIONS);
    expect(journals[0]?.findings).toEqual(server.findings());
    expect(journals[0]?.findings.map(({ kind }) => kind)).toEqual(['retry_after_ignored']);
    expect(journals[0]?.exchanges.map(({ status }) => status)).toEqual([429, 200]);
    expect(journals[0]?.leftOut).toEqual([]);
  });

  it('with a token wants it', async () => {
    const server = await serve({ sequence: ['success'], controlToken: 'of-a-test' });
    await expect(loadReport([server.baseURL], OPTIONS)).rejects.toThrow(/status 401/);
    const { journals } = await loadReport([server.baseURL], { ...OPTIONS, controlToken: 'of-a-test' });
    expect(journals[0]?.ledgers).toEqual([]);
  });

  it('that is gone is an error of one line', async () => {
    const server = await serve({ sequence: ['success'] });
    await server.close();
    await expect(loadReport([server.baseURL], OPTIONS)).rejects.toThrow(/__journal: .*ECONNREFUSED/);
  });
});
