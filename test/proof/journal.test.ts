import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { startFaultServer, WirefaultError } from '../../src/index.js';
import { openJournal } from '../../src/proof/journal.js';
import { type Ledger, ledgerJsonSchema, ledgerSchema } from '../../src/proof/ledger.js';
import { readAnswer } from '../support/http.js';
import type { JournalNote, JournalTask } from '../support/journal-process.js';
import { serve } from '../support/server.js';
import { post, witness, witnessed } from '../support/witness.js';

const ASK = post('/v1/chat/completions', {}, { Connection: 'close' });

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'wirefault-journal-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

/** The complete lines; `torn` is what stands behind the last of them. */
async function linesOf(path: string): Promise<{ lines: string[]; torn: string }> {
  const lines = (await readFile(path, 'utf8')).split('\n');
  const torn = lines.pop() ?? '';
  return { lines, torn };
}

/** Every line has to be a ledger. */
async function ledgersIn(path: string): Promise<Ledger[]> {
  const { lines } = await linesOf(path);
  return lines.map((line) => ledgerSchema.parse(JSON.parse(line)));
}

/** The file's rotated parts in the order in which they were written; then the file itself, if a next one was begun. */
async function partsOf(path: string, dir: string): Promise<string[]> {
  const names = await readdir(dir);
  const numbers = names.flatMap((name) => /\.(\d+)$/.exec(name)?.[1] ?? []).map(Number);
  const parts = numbers.sort((a, b) => a - b).map((number) => `${path}.${number}`);
  return names.includes(basename(path)) ? [...parts, path] : parts;
}

describe('the lines', () => {
  it('are ledgers, by our schema and by the published one', async () => {
    const journal = join(await folder(), 'new', 'folders', 'journal.jsonl');
    const server = await serve({ sequence: ['success', 'partial_disconnect', 'rate_limit', 'stall'], journal });
    for (let n = 0; n < 3; n++) await witnessed(server.port, post('/v1/messages', {}, { Connection: 'close' }));
    const client = witness(server.port);
    client.send(post('/v1/responses', { stream: true }));
    await client.until((bytes) => bytes.includes('\r\n\r\n'));
    await server.close();
    const published = z.fromJSONSchema(ledgerJsonSchema() as Parameters<typeof z.fromJSONSchema>[0]);
    const { lines, torn } = await linesOf(journal);
    expect(torn).toBe('');
    expect(lines).toHaveLength(4);
    for (const line of lines) {
      const value: unknown = JSON.parse(line);
      expect(published.safeParse(value).error).toBeUndefined();
      expect(published.safeParse({ ...Object(value), exchange: 0 }).success).toBe(false);
    }
    const byExchange = (a: Ledger, b: Ledger): number => a.exchange - b.exchange;
    expect((await ledgersIn(journal)).sort(byExchange)).toEqual([...server.ledgers].sort(byExchange));
  });

  it('are added to those that are there', async () => {
    const journal = join(await folder(), 'journal.jsonl');
    for (const count of [1, 2]) {
      await using server = await startFaultServer({ journal });
      await witnessed(server.port, ASK);
      await server.idle();
      expect(await ledgersIn(journal)).toHaveLength(count);
    }
  });
});

describe('rotation', () => {
  it('loses no line and repeats none, and the parts are in order', async () => {
    const dir = await folder();
    const path = join(dir, 'journal.jsonl');
    await writeFile(`${path}.1`, 'of before\n');
    const journal = await openJournal({ path, maxBytes: 1000, onLost: () => expect.fail('a line was lost') });
    const wanted = Array.from({ length: 500 }, (_, n) => `${n} ${'x'.repeat(n % 97)}`);
    for (const [n, line] of wanted.entries()) {
      journal.append(Buffer.from(line));
      if (n % 7 === 0) await journal.flush();
    }
    await journal.close();
    const parts = await partsOf(path, dir);
    const contents = await Promise.all(parts.map(linesOf));
    expect(contents.flatMap(({ lines }) => lines)).toEqual(['of before', ...wanted]);
    expect(parts.length).toBeGreaterThan(10);
    // A part is full before the next one begins.
    for (const part of parts.slice(1, -1)) expect((await readFile(part)).length).toBeGreaterThanOrEqual(1000);
  });

  it('that is impossible loses nothing', async () => {
    const dir = await folder();
    const path = join(dir, 'sub', 'journal.jsonl');
    const journal = await openJournal({ path, maxBytes: 10, onLost: () => expect.fail('a line was lost') });
    await rm(path);
    journal.append(Buffer.from('written to a file that has no name any more'));
    await journal.flush();
    journal.append(Buffer.from('and once more'));
    await journal.close();
  });
});

describe('what can not be written', () => {
  it('a folder that is a file: one clear line', async () => {
    const dir = await folder();
    await writeFile(join(dir, 'file'), '');
    for (const options of [
      { journal: join(dir, 'file', 'journal.jsonl') },
      { capture: join(dir, 'file', 'capture') },
    ]) {
      const refused: unknown = await startFaultServer(options).catch((thrown: unknown) => thrown);
      if (!(refused instanceof WirefaultError)) throw new Error('it was not refused');
      expect(refused.code).toBe('journal_failed');
      expect(refused.message).toMatch(/^(journal: can't write|capture: can't make) .*\/file\/[^\n]*$/);
    }
  });

  it('a folder without the right to write: one clear line', async (ctx) => {
    if (process.getuid?.() === 0) ctx.skip('root may write everywhere');
    const dir = await folder();
    await chmod(dir, 0o500);
    const refused: unknown = await startFaultServer({ journal: join(dir, 'j') }).catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({ code: 'journal_failed' });
  });

  it('a full disk is told at once and at the end, and the wire goes on', async (ctx) => {
    if (process.platform !== 'linux') ctx.skip('there is no /dev/full');
    const server = await serve({ journal: '/dev/full' });
    const told = () => server.events.filter(({ type }) => type === 'journal_failed');
    const one = await witnessed(server.port, ASK);
    await server.idle();
    expect(told()).toEqual([
      { type: 'journal_failed', reason: expect.stringMatching(/^\/dev\/full: .*ENOSPC/), lostLines: 1 },
    ]);
    for (let n = 2; n <= 5; n++) {
      const { bytes } = await witnessed(server.port, ASK);
      expect(readAnswer(bytes)).toMatchObject({ status: 200, complete: true });
      expect(bytes.length).toBe(one.bytes.length);
    }
    await server.idle();
    expect(told()).toHaveLength(1);
    await server.close();
    expect(told()).toHaveLength(2);
    expect(told()[1]).toMatchObject({ lostLines: 5 });
    expect(server.ledgers).toHaveLength(5);
  });
});

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
  readonly notes: readonly JournalNote[];
}

/** Runs the program; `onReached` is told when its exchanges are through. */
async function run(task: JournalTask, shell?: string, onReached?: (pid: number) => void): Promise<Ended> {
  const path = fileURLToPath(new URL('../support/journal-process.ts', import.meta.url));
  const program = [process.execPath, '--import', 'tsx', path, JSON.stringify(task)];
  const [command = '', ...args] =
    shell === undefined ? program : ['unshare', '-m', 'sh', '-c', shell, 'sh', ...program];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const notes: JournalNote[] = [];
  let stderr = '';
  child.stderr.on('data', (bytes) => {
    stderr += bytes;
  });
  createInterface(child.stdout).on('line', (line) => {
    const note: JournalNote = JSON.parse(line);
    notes.push(note);
    if (note.type === 'reached' && child.pid !== undefined) onReached?.(child.pid);
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stderr, notes };
}

function lastWord(ended: Ended): JournalNote & { type: 'ledgers' } {
  const note = ended.notes.at(-1);
  if (note?.type !== 'ledgers') throw new Error(`no last word: ${ended.stderr}`);
  return note;
}

describe('a program that ends', () => {
  for (const [end, code] of [
    ['exit', 0],
    ['throw', 1],
    ['close', 0],
  ] as const) {
    for (const journalMaxBytes of [0, 3000]) {
      it(`by ${end} has written every ledger${journalMaxBytes ? ', rotating' : ''}`, async () => {
        const dir = await folder();
        const journal = join(dir, 'journal.jsonl');
        const ended = await run({ journal, journalMaxBytes, exchanges: 200, end });
        expect(ended.code, ended.stderr).toBe(code);
        const parts = await partsOf(journal, dir);
        const ledgers = (await Promise.all(parts.map(ledgersIn))).flat();
        expect(ledgers).toHaveLength(lastWord(ended).count);
        expect(new Set(ledgers.map(({ exchange }) => exchange)).size).toBe(ledgers.length);
        expect(ledgers.length).toBeGreaterThanOrEqual(200);
      });
    }
  }

  it('by kill -9 leaves lines that are whole but for the last', async () => {
    const journal = join(await folder(), 'journal.jsonl');
    // Ledgers settle in bursts, and the last is on its way to the disk.
    const ended = await run({ journal, exchanges: 1000, end: 'on' }, undefined, (pid) => process.kill(pid, 'SIGKILL'));
    expect(ended.notes.map(({ type }) => type)).toEqual(['reached']);
    const ledgers = await ledgersIn(journal);
    expect(ledgers.length).toBeGreaterThan(50);
    expect(new Set(ledgers.map(({ exchange }) => exchange)).size).toBe(ledgers.length);
  });

  it('on a disk that fills up: whole lines, and the number of the lost ones', async (ctx) => {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) ctx.skip('mounting a small disk needs root on Linux');
    const dir = await folder();
    const disk = join(dir, 'disk');
    await mkdir(disk);
    // Seen by the program alone, and gone with it; what it has written is copied out before.
    const shell = `mount -t tmpfs -o size=64k none ${disk} && "$@"; code=$?; cp ${disk}/* ${dir}; exit $code`;
    const ended = await run({ journal: join(disk, 'journal.jsonl'), exchanges: 100, end: 'close' }, shell);
    if (/unshare|mount:/.test(ended.stderr)) ctx.skip(`no small disk: ${ended.stderr}`);
    expect(ended.code, ended.stderr).toBe(0);
    const failed = ended.notes.filter(({ type }) => type === 'journal_failed');
    expect(failed).toHaveLength(2);
    const lost = failed.map((note) => (note.type === 'journal_failed' ? note.lostLines : 0));
    const { lines, torn } = await linesOf(join(dir, 'journal.jsonl'));
    expect(torn).toBe('');
    const exchanges = lines.map((line) => ledgerSchema.parse(JSON.parse(line)).exchange);
    expect(new Set(exchanges).size).toBe(exchanges.length);
    const { count, answers } = lastWord(ended);
    expect(lines.length + (lost[1] ?? 0)).toBe(count);
    // What fits is kept, though it was written together with what doesn't.
    expect(lines.join('\n').length).toBeGreaterThan(60_000);
    expect(answers).toBe(count);
  });
});
