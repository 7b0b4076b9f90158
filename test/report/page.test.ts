import { describe, expect, it } from 'vitest';
import { loadReport } from '../../src/report/load.js';
import { reportMarkdown } from '../../src/report/markdown.js';
import { PAGE_LIMIT, reportPage } from '../../src/report/page.js';
import { HOSTILE } from './hostile.js';
import { broken, everything, matrixFolder, RETRIED, run, type SampleRun } from './samples.js';

const OPTIONS = { evidence: true, bytesDir: undefined, controlToken: undefined };

describe('the page', () => {
  it('has the heat map, the evidence, sweeps, patience, findings, versions', async () => {
    const page = reportPage(await loadReport([await everything()], OPTIONS));
    for (const part of [
      '>flaky silent 1/2</button>',
      '>N/A: program absent not on PATH</td>',
      'cut at half',
      '1 → 2',
      '>512 ms</td>',
      'screen after 1.6 s',
      'POST /v1/models: 200',
      '>replay after output</td>',
      'cut by <code>eof</code>',
      '&gt; 60 s',
      '>a 1.0</td>',
    ]) {
      expect(page).toContain(part);
    }
  });

  it('allows its own style and script by their hashes, and nothing else', async () => {
    const page = reportPage(await loadReport([await everything()], OPTIONS));
    expect(page).toMatch(
      /content="default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'"/,
    );
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toMatch(/\ssrc=|<link|@import|url\(/);
  });

  it('of 400 runs has a few megabytes, and says what is not in it', async () => {
    const output = `${'the quick brown fox "jumps" & runs\n'.repeat(500)}`;
    const runs = Array.from({ length: 400 }, (_, n): SampleRun => {
      const verdict = n % 5 === 4 ? 'silent' : 'detected';
      const given = { repeat: (n % 10) + 1, dir: `cells/${n}` };
      const evidence = { main: RETRIED, stdout: output, stderr: output };
      return run(`client${Math.floor(n / 100)}`, `F${Math.floor(n / 10) % 10}`, verdict, given, { evidence });
    });
    const report = await loadReport([await matrixFolder(runs)], OPTIONS);
    const whole = reportPage(report);
    expect(whole.length).toBeLessThan(PAGE_LIMIT + 1_000_000);
    expect(whole).toContain('characters left out …');

    const small = reportPage(report, 500_000);
    expect(small.length).toBeLessThan(1_500_000);
    const [, left = ''] = /The evidence of (\d+) of 400 runs is not in this page/.exec(small) ?? [];
    expect(small.match(/<p class="gap">Its evidence is not in this page/g)).toHaveLength(Number(left));
    // Those that went wrong have theirs.
    const silent = small.split('<details').filter((one) => one.includes('v-silent">silent</span> a | b'));
    expect(silent.filter((one) => one.includes('On the wire')).length).toBeGreaterThan(10);
  });

  it('of nothing is a page', () => {
    const nothing = { sources: [], records: [], evidence: new Map(), sweeps: [], idle: [], journals: [] };
    expect(reportPage(nothing)).toContain('</html>');
  });
});

describe('Markdown', () => {
  it('has the tables of all there is', async () => {
    const text = reportMarkdown(await loadReport([await everything()], { ...OPTIONS, evidence: false }));
    expect(text).toContain('| `sdk` | complete | **flaky silent 1/2** | - |');
    expect(text).toContain('| `sdk` | a 1.0 | openai-chat | every-byte of 4,000 | eof | 4,001 |');
    expect(text).toContain('detected 0 to 809, silent 810 to 3,999, complete 4,000 |');
    expect(text).toContain(
      '| headers | 10 s | 10 s | 10 s | FIN | 2 (after 512 ms, 1.03 s) | the end of the request | socket |',
    );
    expect(text).toContain('| between events | > 60 s | > 60 s | > 60 s | - | - | the last event | socket |');
    expect(text).toContain('| comment | yes, against 10 s |');
    expect(text).toContain('gives up: 9.8 s to 10.1 s.');
  });

  it('keeps the rows of a table whole, whatever clients say', async () => {
    const dir = await matrixFolder([
      run('a', 'F2', 'silent', { because: HOSTILE, clientVersion: HOSTILE }, { evidence: { main: [broken()] } }),
    ]);
    const text = reportMarkdown(await loadReport([dir], OPTIONS));
    for (const part of ['<script', '<img', '\x1b', '![']) expect(text).not.toContain(part);
    const why = text.split('\n').find((line) => line.startsWith('| `a` | F2'));
    expect(why?.replaceAll('\\|', '').split('|')).toHaveLength(7);
  });
});
