import { createHash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addDoctorCommand } from '../../src/commands/doctor.js';
import { diagnose } from '../../src/proof/doctor.js';
import { disagreements, TEARDOWN_CASES } from '../../src/proof/doctor-checks.js';
import {
  type DoctorReport,
  doctorReportSchema,
  doctorText,
  openFilesIn,
  percentile,
} from '../../src/proof/doctor-report.js';
import { plain } from '../../src/proof/paint.js';
import { ledgerWith } from './ledgers.js';

describe('this machine', () => {
  it('every teardown and every source holds, and --json prints it', async () => {
    const out = new PassThrough();
    const read = out.setEncoding('utf8').toArray();
    const root = new Command('wirefault').exitOverride();
    addDoctorCommand(root, { out, err: { write: () => {} } });
    const before = process.exitCode;
    onTestFinished(() => {
      process.exitCode = before;
    });
    await root.parseAsync(['doctor', '--json'], { from: 'user' });
    out.end();
    const report = doctorReportSchema.strict().parse(JSON.parse((await read).join('')));

    expect(report.teardowns.filter(({ ok }) => !ok)).toEqual([]);
    expect(report.teardowns.map(({ name, saw }) => [name, saw])).toEqual([
      ['rst', 'rst'],
      ['rst, no answer', 'rst'],
      ['rst_now', 'rst'],
      ['stall', 'open'],
      ['eof', 'open'],
      ['keep_alive', 'open'],
      ['fin', 'fin'],
      ['half_close', 'fin'],
      ['fin, complete', 'fin'],
      ['refused', 'refused'],
    ]);
    expect(report.evidence.flatMap(({ problems }) => problems)).toEqual([]);
    expect(report.evidence.filter(({ chosen, available }) => chosen && available)).toHaveLength(1);
    expect(report.evidence.find(({ source }) => source === 'callbacks')?.levels).toEqual(['written', 'flushed']);
    expect(report.timers.count).toBe(200);
    expect(report.timers.p99LateMs).toBeGreaterThanOrEqual(report.timers.medianLateMs);
    if (process.platform === 'linux') expect(report.openFiles).not.toBeNull();
    expect(report.ok).toBe(true);
    expect(process.exitCode).toBe(before);

    const fetched = new Map(report.fetch.map((result) => [result.name, result]));
    expect(fetched.get('keep_alive')).toMatchObject({ complete: true, status: 200, error: null });
    expect(fetched.get('refused')?.error?.code).toBe('ECONNREFUSED');
    expect(fetched.get('stall')).toMatchObject({ complete: false, bodyBytes: 0, error: { name: 'TimeoutError' } });
  });

  it('twice at once: it holds no port and no state', async () => {
    const reports = await Promise.all([diagnose(), diagnose()]);
    expect(reports.map(({ ok }) => ok)).toEqual([true, true]);
  });
});

describe('what the witness contradicts', () => {
  const received = Buffer.from('x'.repeat(1000));
  const sha256 = createHash('sha256').update(received).digest('hex');
  const plan = { sha256, bytes: 1000, writtenSha256: sha256 };
  const one = { kind: 'keep_alive' };

  it('nothing', () => {
    expect(disagreements(one, ledgerWith({ plan }), received)).toEqual([]);
  });

  it('unknown levels contradict nothing, nor do last known ones that are too low', () => {
    const unknown = { written: 1000, flushed: 1000, acked: null, read: null };
    expect(disagreements(one, ledgerWith({ plan, bytes: unknown }), received)).toEqual([]);
    const low = { written: 1000, flushed: 1000, acked: 1000, read: 0 };
    expect(disagreements(one, ledgerWith({ plan, bytes: low, stale: true }), received)).toEqual([]);
    expect(disagreements(one, ledgerWith({ plan, bytes: low }), received)).toEqual([
      'the witness got 1000 bytes, the ledger says read 0',
    ]);
  });

  it('a count that is too high, another byte, another teardown', () => {
    const bytes = { written: 1000, flushed: 1000, acked: 1000, read: 1001 };
    expect(disagreements({ kind: 'rst' }, ledgerWith({ bytes, stale: true }), received)).toEqual([
      'the witness got 1000 bytes, the ledger says read 1001',
      "the witness's bytes are not the recorded ones: their SHA-256 differ",
      'the ledger says keep_alive, not rst',
    ]);
  });
});

it('the limit of open files', () => {
  const limits = (soft: string, hard: string): string =>
    `Limit                     Soft Limit           Hard Limit           Units     \nMax processes             100                  100                  processes \nMax open files            ${soft.padEnd(20)} ${hard.padEnd(20)} files     \n`;
  expect(openFilesIn(limits('1024', '524288'))).toEqual({ soft: 1024, hard: 524_288 });
  expect(openFilesIn(limits('1024', 'unlimited'))).toEqual({ soft: 1024, hard: 'unlimited' });
  expect(openFilesIn('')).toBeNull();
});

it('percentiles', () => {
  const values = Array.from({ length: 200 }, (_, n) => 200 - n);
  expect([0, 0.5, 0.99, 1].map((of) => percentile(values, of))).toEqual([1, 100, 198, 200]);
  expect(percentile([], 0.5)).toBeNaN();
});

const ACHE: DoctorReport = {
  ok: false,
  version: '1.2.3',
  node: 'v20.0.0',
  platform: 'linux 6 x64',
  teardowns: [
    {
      name: 'rst',
      behavior: 'partial_disconnect',
      ok: true,
      expected: 'rst',
      saw: 'rst',
      receivedBytes: 2242,
      recorded: { written: 2242, flushed: 2242, acked: 2242, read: null },
      problems: [],
    },
    {
      name: 'fin',
      behavior: 'success',
      ok: false,
      expected: 'fin',
      saw: 'open',
      receivedBytes: 10,
      recorded: { written: 10, flushed: 10, acked: 9, read: 10 },
      problems: ['the witness saw open, not fin'],
    },
    {
      name: 'refused',
      behavior: 'connection_refused',
      ok: true,
      expected: 'refused',
      saw: 'refused',
      receivedBytes: 0,
      recorded: null,
      problems: [],
    },
  ],
  evidence: [
    { source: 'koffi', available: false, chosen: false, levels: [], problems: [] },
    { source: 'callbacks', available: true, chosen: true, levels: ['written', 'flushed'], problems: [] },
  ],
  timers: { count: 200, ms: 5, medianLateMs: 0.3, p99LateMs: 1.9 },
  openFiles: null,
  fetch: [
    { name: 'eof', complete: true, status: 200, bodyBytes: 1406, error: null },
    {
      name: 'rst',
      complete: false,
      status: 200,
      bodyBytes: 1,
      error: { name: 'TypeError', message: 'terminated', code: 'ECONNRESET' },
    },
    {
      name: 'refused',
      complete: false,
      status: null,
      bodyBytes: 0,
      error: { name: 'TypeError', message: 'fetch failed', code: null },
    },
  ],
};

it('the exit code says that something does not hold', async () => {
  const before = process.exitCode;
  onTestFinished(() => {
    process.exitCode = before;
  });
  const out = new PassThrough();
  const root = new Command('wirefault').exitOverride();
  addDoctorCommand(root, { out, err: { write: () => {} } }, async () => ACHE);
  await root.parseAsync(['doctor'], { from: 'user' });
  expect(process.exitCode).toBe(1);
  expect(String(out.read())).toBe(doctorText(ACHE, plain));
});

it('the report for a person', () => {
  expect(doctorReportSchema.parse(ACHE)).toEqual(ACHE);
  expect(`\n${doctorText(ACHE, plain)}`).toBe(`
wirefault 1.2.3, Node v20.0.0, linux 6 x64

Teardowns: what a raw witness got, against the ledger
  ✓ rst      partial_disconnect  rst      2,242 bytes = written = flushed = acked; read unknown
  ✗ fin      success             open     10 bytes = written = flushed; acked 9 = read
      the witness saw open, not fin
  ✓ refused  connection_refused  refused

Evidence: where byte counts can come from
  - koffi      not to be had here
  ✓ callbacks  written, flushed    chosen

Machine
  timers      200 of 5 ms: late by 0.3 ms (median), 1.9 ms (99th percentile)
  open files  this platform doesn't tell; ask the shell: ulimit -n

fetch: how this Node's own client reports them, which proves nothing about the wire
    eof      a complete answer: 200, 1,406 body bytes
    rst      TypeError: terminated (ECONNRESET), after 200 and 1 body byte
    refused  TypeError: fetch failed, before any answer

✗ 1 check failed
`);
});

it('every teardown that the server has is checked', () => {
  expect(new Set(TEARDOWN_CASES.flatMap(({ kind }) => kind ?? []))).toEqual(
    new Set(['rst', 'rst_now', 'stall', 'eof', 'fin', 'half_close', 'keep_alive']),
  );
});
