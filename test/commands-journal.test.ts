import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { Command } from 'commander';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addJournalCommand } from '../src/commands/journal.js';
import { type Ledger, ledgerJsonSchema, ledgerSchema } from '../src/proof/ledger.js';
import { ledgerWith, NULLS, REQUEST, RESET_WITH_LOSS, STALE, STALL } from './proof/ledgers.js';

const ALL = [ledgerWith(), RESET_WITH_LOSS, STALL];

/** A journal of these lines: ledgers, or text as it is. */
async function journal(...lines: readonly (Ledger | string)[]): Promise<string> {
  const dir = await mkdtemp(join(os.tmpdir(), 'wirefault-journal-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const file = join(dir, 'journal.jsonl');
  await writeFile(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  return file;
}

interface Ran {
  readonly out: string;
  readonly err: string;
  readonly error: unknown;
}

async function run(args: readonly string[], isTTY = false): Promise<Ran> {
  let err = '';
  const out = Object.assign(new PassThrough(), { isTTY });
  const read = out.setEncoding('utf8').toArray();
  const root = new Command('wirefault').exitOverride().configureOutput({ writeErr: () => {} });
  addJournalCommand(root, {
    out,
    err: {
      write: (text) => {
        err += text;
      },
    },
  });
  const error = await root.parseAsync(['journal', ...args], { from: 'user' }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  out.end();
  return { out: (await read).join(''), err, error };
}

const exchangesOf = (out: string): number[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ledgerSchema.parse(JSON.parse(line)).exchange);

describe('in a pipe', () => {
  it('JSON lines, as they stand in the file', async () => {
    const unknown = JSON.stringify({ ...ledgerWith(), later: 'field' });
    const file = await journal(unknown, RESET_WITH_LOSS);
    expect(await run([file])).toEqual({
      out: `${unknown}\n${JSON.stringify(RESET_WITH_LOSS)}\n`,
      err: '',
      error: undefined,
    });
  });

  for (const [filter, expected] of [
    [['--behavior', 'stall'], [13]],
    [['--behavior', 'random'], [2]],
    [['--outcome', 'completed'], [1]],
    [['--lost'], [2]],
    [['--lost', '--outcome', 'stalled'], []],
  ] as const) {
    it(filter.join(' '), async () => {
      const file = await journal(...ALL, { ...NULLS, outcome: 'reset' });
      const { out, error } = await run([file, ...filter]);
      expect(error).toBeUndefined();
      expect(exchangesOf(out)).toEqual(expected);
    });
  }

  it('one exchange, the newest of several runs', async () => {
    const again = ledgerWith({ exchange: 13, attempt: 13 });
    const file = await journal(STALL, ...ALL, again, RESET_WITH_LOSS);
    expect((await run([file, '13'])).out).toBe(`${JSON.stringify(again)}\n`);
    expect(exchangesOf((await run([file, '13', '--outcome', 'stalled'])).out)).toEqual([13]);
  });

  it('--text: as on a terminal', async () => {
    const file = await journal(...ALL);
    expect((await run([file, '--text'])).out).toBe((await run([file], true)).out);
  });

  it('a line separator inside a string is no end of a line', async () => {
    const request = { ...REQUEST, path: '/\u2028\u2029\r' };
    const { out, error } = await run([await journal(ledgerWith({ request }))]);
    expect(error).toBeUndefined();
    expect(exchangesOf(out)).toEqual([1]);
  });

  it('a reader that goes before the end is no error, and nothing more is read', async () => {
    let written = 0;
    const out = new Writable({
      highWaterMark: 1,
      write: (_bytes, _encoding, done) => {
        written++;
        setImmediate(() => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })));
      },
    });
    out.on('error', () => {});
    const root = new Command('wirefault').exitOverride();
    addJournalCommand(root, { out, err: { write: () => {} } });
    await root.parseAsync(['journal', await journal(...ALL)], { from: 'user' });
    expect(written).toBe(1);
  });
});

describe('on a terminal', () => {
  it('a line for each, filtered too', async () => {
    const file = await journal(...ALL, STALE);
    const { out } = await run([file, '--outcome', 'completed'], true);
    expect(out.split('\n').map((line) => line.split(/ {2,}/)[2])).toEqual([
      'path',
      '/v1/chat/completions',
      '/v1/chat/completions',
      undefined,
      undefined,
    ]);
    expect(out).toMatch(/\n2 exchanges: 2 completed; at most 600 bytes lost in 1\n$/);
  });

  it('the whole story of one', async () => {
    const { out } = await run([await journal(...ALL), '2'], true);
    expect(out).toMatch(/^exchange 2: partial_disconnect, reset\n/);
  });

  it('--json: as in a pipe', async () => {
    const file = await journal(...ALL);
    expect((await run([file, '--json'], true)).out).toBe((await run([file])).out);
    expect((await run([file, '2', '--json'], true)).out).toBe(`${JSON.stringify(RESET_WITH_LOSS)}\n`);
  });
});

it('--schema prints the JSON Schema, with no file', async () => {
  const { out } = await run(['--schema']);
  expect(JSON.parse(out)).toEqual(ledgerJsonSchema());
});

describe('errors', () => {
  it('lines that are no ledgers: each with its number and what is wrong, counted at the end; the others are shown', async () => {
    const half = JSON.stringify(ledgerWith()).slice(0, 500);
    const wrong = JSON.stringify({ ...ledgerWith(), bytes: { ...ledgerWith().bytes, acked: -1 }, version: 2 });
    const file = await journal(ledgerWith(), '{}', '', wrong, STALL, half);
    const { out, err, error } = await run([file]);
    expect(exchangesOf(out)).toEqual([1, 13]);
    const lines = err.split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(new RegExp(`^${file}:2: version: .*; exchange: .*; connection: .*; and \\d+ more$`));
    expect(lines[1]).toMatch(new RegExp(`^${file}:4: version: .*; bytes\\.acked: [^;]*$`));
    expect(lines[2]).toMatch(new RegExp(`^${file}:6: not JSON: `));
    expect(error).toMatchObject({
      code: 'bad_evidence',
      message: `journal: 3 of 5 lines of ${file} are no ledgers`,
    });
  });

  it('a file that is missing, or none', async () => {
    const missing = join(os.tmpdir(), 'wirefault-there-is-none', 'journal.jsonl');
    const { out, err, error } = await run([missing]);
    expect([out, err]).toEqual(['', '']);
    const message = expect.stringMatching(/^journal: can't read \S+journal\.jsonl: ENOENT: [^\n]*$/);
    expect(error).toMatchObject({ code: 'bad_evidence', message });
    expect((await run([os.tmpdir()])).error).toMatchObject({ code: 'bad_evidence' });
    expect((await run([])).error).toMatchObject({ code: 'bad_option', message: expect.stringContaining('FILE') });
  });

  it('an exchange that is not there, or is no number', async () => {
    const file = await journal(...ALL);
    const message = `journal: exchange 9 is not among the 3 ledgers of ${file}`;
    expect((await run([file, '9'])).error).toMatchObject({ code: 'bad_evidence', message });
    for (const bad of ['0', '-1', '1.5', 'x']) {
      const { error } = await run([file, '--', bad]);
      expect(error).toMatchObject({ code: 'bad_option', message: expect.stringContaining(`"${bad}"`) });
    }
  });
});
