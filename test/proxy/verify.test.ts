import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { addVerifyCommand } from '../../src/commands/verify.js';
import { addWitnessCommand } from '../../src/commands/witness.js';
import { runCommand } from '../support/command.js';
import { chunkedAnswer, proxied, rawUpstream } from './support/upstream.js';

const BODY = Buffer.from('data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n');

it('the three byte strings of a proxy: where they part, and that a stored one was changed', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'wirefault-verify-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = (name: string): string => join(dir, name);
  const upstream = await rawUpstream(chunkedAnswer(BODY, 30));
  const proxy = await proxied({
    upstream: upstream.url,
    sequence: [
      'rst@event:1',
      { head: { set: [['content-type', 'text/plain']] }, cut: { at: 'event:1', teardown: 'rst' } },
    ],
    journal: file('journal.jsonl'),
    capture: file('bytes'),
  });
  writeFileSync(file('body.json'), '{"stream":true}');
  for (const n of [1, 2]) {
    const url = `${proxy.baseURL}/v1/chat/completions`;
    const run = await runCommand(addWitnessCommand, [
      'witness',
      url,
      '--body',
      file('body.json'),
      '--out',
      file(`${n}.jsonl`),
    ]);
    expect(run.err).toBe('');
  }
  await proxy.idle();
  const args = [
    'verify',
    file('journal.jsonl'),
    '--witness',
    file('1.jsonl'),
    file('2.jsonl'),
    '--capture',
    file('bytes'),
  ];
  const good = await runCommand(addVerifyCommand, args);
  expect([good.code, good.err]).toEqual([0, '']);
  const [first, second] = good.out.split('\n');
  expect(first).toContain("every byte compared), the upstream's as far as they go, rst");
  expect(second).toContain("not the upstream's from byte 17 on (after status_line:1)");

  const stored = readFileSync(file('bytes/000001.upstream'));
  expect(stored.equals(chunkedAnswer(BODY, 30))).toBe(true);
  stored[40] = 0;
  writeFileSync(file('bytes/000001.upstream'), stored);
  const bad = await runCommand(addVerifyCommand, args);
  expect(bad.code).toBe(1);
  expect(bad.out).toContain('the stored bytes of the upstream are not those of the ledger (SHA-256)');
});
