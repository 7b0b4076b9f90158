import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addReportCommand } from '../src/commands/report.js';
import { plain } from '../src/proof/paint.js';
import { idleText } from '../src/trial/idle-text.js';
import { sweepText } from '../src/trial/sweep-text.js';
import { everything, exchange, IDLE, matrixFolder, run, SWEEP } from './report/samples.js';
import { type CommandRun, runCommand } from './support/command.js';
import { folder } from './trial/support/little.js';

const ran = (...args: readonly string[]): Promise<CommandRun> => runCommand(addReportCommand, ['report', ...args]);

describe('wirefault report', () => {
  it('prints a summary', async () => {
    const { code, out } = await ran(await everything());
    expect(code).toBe(0);
    expect(out).toBe(
      [
        'client  F0        F2                F3',
        'sdk     complete  flaky silent 1/2  -',
        'tui     complete  duplicated        hang',
        'absent  N/A: program absent not on PATH',
        '',
        'tui (F2): replay after output: exchange 1: 6 events with output delivered, then reset; exchange 2: the same request',
        '  Text of a broken answer has been handed out: take it back before the next answer is shown, or say so.',
        '',
        sweepText(SWEEP, plain).trimEnd(),
        '',
        idleText(IDLE, plain).trimEnd(),
        '',
      ].join('\n'),
    );
  });

  it('writes all formats at once, and says so', async () => {
    const [source, dir] = [await everything(), await folder()];
    const at = (name: string): string => join(dir, name);
    const { code, out, err } = await ran(
      source,
      ...['--html', at('r.html'), '--markdown', at('r.md'), '--junit', at('r.xml')],
    );
    expect([code, out]).toEqual([0, '']);
    expect(err).toMatch(/r\.html: [\d,]+ bytes\n.*r\.md: [\d,]+ bytes\n.*r\.xml: [\d,]+ bytes\n$/);
    expect(await readFile(at('r.html'), 'utf8')).toContain('On the wire');
    expect(await readFile(at('r.md'), 'utf8')).toContain('## Verdicts');
    expect(await readFile(at('r.xml'), 'utf8')).toContain('<testsuite name="sdk"');
  });

  it('prints one format with -, and refuses two', async () => {
    const source = await everything();
    expect((await ran(source, '--markdown', '-')).out).toMatch(/^## Verdicts/);
    expect((await ran(source, '--html', '-')).out).toMatch(/^<!doctype html>/);
    const { code, err } = await ran(source, '--junit', '-', '--json');
    expect(code).toBe(2);
    expect(err).toBe('standard output takes one format, not junit and json; write the others to files');
  });

  it('prints JSON', async () => {
    const { out } = await ran(await everything(), '--json');
    const read = JSON.parse(out);
    expect(read.records).toHaveLength(8);
    expect([read.sweeps.length, read.idle.length, read.journals.length]).toEqual([1, 1, 0]);
    expect(read.findings).toMatchObject([{ client: 'tui', fault: 'F2', repeat: 1, kind: 'replay_after_output' }]);
  });

  it('--fail-on makes the exit code, and says what was met', async () => {
    const source = await everything();
    const met = await ran(source, '--fail-on', 'silent,hang,retry_storm,flaky,replay_after_output');
    expect(met.code).toBe(1);
    expect(met.err).toBe(
      'sdk F2: flaky\nsdk F2: silent\ntui F2: replay_after_output\ntui F3: hang\nsweep sdk openai-chat eof: silent\n',
    );
    expect(await ran(source, '--fail-on', 'crash')).toMatchObject({ code: 0, err: '' });
    expect(await ran(source, '--fail-on', 'loud')).toMatchObject({ code: 2, err: expect.stringContaining('"loud"') });
  });

  it('fails for the findings of a journal, whose bytes may lie elsewhere', async () => {
    const [dir, bytes] = [await folder(), await folder()];
    const file = join(dir, 'journal.jsonl');
    const times = exchange().times;
    const ledgers = [0, 100].map((ms, n) =>
      exchange({
        exchange: n + 1,
        times: { ...times, requestAt: `2026-11-30T20:00:00.${String(ms).padStart(3, '0')}Z` },
      }),
    );
    await writeFile(file, ledgers.map((ledger) => `${JSON.stringify(ledger)}\n`).join(''));
    await writeFile(join(bytes, '000001.response'), 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
    const { code, out, err } = await ran(file, '--bytes', bytes, '--fail-on', 'retried_unretryable');
    expect(code).toBe(1);
    expect(out).toContain('retried unretryable: exchange 1: status 401; exchange 2: the same request');
    expect(err).toBe(`${file}: retried_unretryable\n`);
    // Without the bytes nobody knows what the status was.
    expect(await ran(file, '--fail-on', 'retried_unretryable')).toMatchObject({ code: 0 });
    expect(await ran(file, '--bytes', join(bytes, 'x'))).toMatchObject({ code: 2 });
  });

  it('shows what would steer the terminal', async () => {
    const dir = await matrixFolder([run('a\x1b[2J', 'F0', 'silent', { dir: 'x' })]);
    const { out } = await ran(dir);
    expect(out).toContain('a\\x1b[2J');
    expect(out).not.toContain('\x1b');
  });

  it.each([
    [[], 2, /missing required argument/],
    [['http://'], 2, /http:\/\/ is no URL/],
    [['/nowhere'], 1, /\/nowhere: ENOENT.*; expected a matrix's, sweep's or idle's folder, a journal, or a live/],
  ])('%j is refused', async (args, code, message) => {
    const got = await ran(...args);
    expect(got.code).toBe(code);
    expect(got.err).toMatch(message);
  });

  it('a file that can not be written is an error of one line', async () => {
    const { code, err } = await ran(await everything(), '--html', '/nowhere/r.html');
    expect(code).toBe(2);
    expect(err).toMatch(/^--html: can't write \/nowhere\/r\.html: ENOENT/);
  });
});
