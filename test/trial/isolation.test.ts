import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { TrialClient } from '../../src/trial/client.js';
import { type CellRunner, cellRunner } from '../../src/trial/isolation.js';
import { BUILT, folder, little, NOT_BUILT } from './support/little.js';

const namespaces = await cellRunner('namespace').catch(() => undefined);
const why = BUILT
  ? 'no namespaces here: they need Linux with unshare and ip, and root or namespaces of users'
  : NOT_BUILT;

const script = (text: string): TrialClient => ({ ...little('naive'), command: ['{{node}}', '-e', text] });

async function ran(runner: CellRunner, client: TrialClient) {
  const dir = join(await folder(), 'cell');
  const run = await runner.run({ client, fault: 'F0', prompt: 'x', seed: 1, dir, paragraphs: 4, timeoutMs: 20_000 });
  return { dir, run };
}

describe('a cell in its own namespaces', () => {
  beforeEach(({ skip }) => skip(!namespaces || !BUILT, why));
  const runner = namespaces as CellRunner;

  it('is judged as any other', async () => {
    const { run } = await ran(runner, little('strict'));
    expect(run).toMatchObject({ exitCode: 0, foreign: [], stderr: '' });
    // The kernel tells there too what the client has read.
    expect(run.main).toMatchObject([{ evidence: 'koffi', lost: 0, blocks: { told: 4, delivered: 4 } }]);
  });

  it('reaches nothing else, and what it looks up is told', async () => {
    const outside = createServer((_, response) => response.end('reached'));
    await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void outside.close());
    const { port } = outside.address() as AddressInfo;
    const { run } = await ran(
      runner,
      script(`const tell = (url) => fetch(url).then(() => 'reached', (e) => e.cause?.code).then((word) => console.log(word));
        tell('http://127.0.0.1:${port}/').then(() => tell('http://telemetry.example.com/')).then(() => tell('http://telemetry.example.com/x'))`),
    );
    expect(run.stdout.trim().split('\n')).toEqual(['ECONNREFUSED', 'ENOTFOUND', 'ENOTFOUND']);
    expect(run.foreign).toEqual(['telemetry.example.com']);
  });

  it('leaves no daemon', async () => {
    const beat = join(await folder(), 'beat');
    const daemon = `setInterval(() => require('node:fs').writeFileSync(${JSON.stringify(beat)}, String(Date.now())), 20)`;
    await ran(
      runner,
      script(`const { spawn } = require('node:child_process');
        spawn(process.execPath, ['-e', ${JSON.stringify(daemon)}], { detached: true, stdio: 'ignore' }).unref();
        const wait = setInterval(() => require('node:fs').existsSync(${JSON.stringify(beat)}) && clearInterval(wait), 20)`),
    );
    const last = await readFile(beat, 'utf8');
    await sleep(200);
    expect(await readFile(beat, 'utf8')).toBe(last);
  });
});

it('without them a cell runs in this very process', async () => {
  const runner = await cellRunner('none');
  expect(runner.isolation).toBe('none');
  expect((await ran(runner, little('strict'))).run).toMatchObject({ exitCode: 0, foreign: [] });
});
