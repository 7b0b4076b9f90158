import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { control, controlJson } from './support/control.js';
import { readAnswer } from './support/http.js';
import { post, witnessed } from './support/witness.js';

/** The command line with a scenario and with the flags of the control plane, as a process: `npm test` builds it. */
const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const PATH = '/v1/chat/completions';

const SCENARIO = `
options: { successText: from the file, chunkSize: 5, controlToken: from-the-file }
sequence: [rate_limit, success]
repeatLast: true
seed: 7
laneBy: header:X-Lane
lanes: { own: { sequence: [auth_error] } }
rules: [{ fault: F4, path: /responses, once: true }]
`;

type Line = Readonly<Record<string, unknown>>;

interface Started {
  readonly child: ChildProcess;
  readonly ready: Line;
  readonly port: number;
}

function spawned(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return child;
}

/** Started, and ready. */
async function serving(...args: string[]): Promise<Started> {
  const child = spawned(['serve', '--port', '0', ...args]);
  if (!child.stdout || !child.stderr) throw new Error('both are pipes');
  const said = text(child.stderr);
  for await (const line of createInterface(child.stdout)) {
    const ready: Line = JSON.parse(line);
    if (ready.type === 'ready') return { child, ready, port: Number(new URL(String(ready.baseURL)).port) };
  }
  throw new Error(`it has ended: ${await said}`);
}

async function refusal(...args: string[]): Promise<{ readonly code: unknown; readonly err: string }> {
  const child = spawned(['serve', '--port', '0', ...args]);
  const code = new Promise((resolve) => child.once('exit', resolve));
  return { err: child.stderr ? await text(child.stderr) : '', code: await code };
}

async function written(contents: string): Promise<string> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'wirefault-scenario-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const file = path.join(dir, 'scenario.yaml');
  await writeFile(file, contents);
  return file;
}

async function ask(port: number, lane: string, where = PATH): Promise<{ status: number | undefined; body: string }> {
  const { bytes } = await witnessed(port, post(where, {}, { Connection: 'close', 'X-Lane': lane }));
  const answer = readAnswer(bytes);
  return { status: answer?.status, body: answer?.body.toString() ?? '' };
}

describe('serve --scenario', () => {
  it('does what the file says: options, sequence, lanes, rules, seed', async () => {
    const { port, ready } = await serving('--scenario', await written(SCENARIO));
    expect(ready).toMatchObject({ randomSeed: 7, controlURL: `http://127.0.0.1:${port}` });
    expect((await ask(port, 'a')).status).toBe(429);
    expect((await ask(port, 'a')).body).toContain('from the file');
    expect((await ask(port, 'own')).status).toBe(401);
    expect((await ask(port, 'a', '/v1/responses')).body).toContain('max_output_tokens');
    const headers = { 'X-Wirefault-Token': 'from-the-file' };
    const { json } = await controlJson(port, 'GET /__control', { headers });
    expect(json).toMatchObject({ rules: [], spent: [{ fault: 'F4', hits: 1 }] });
  });

  it('flags override the file, one by one', async () => {
    const flags = ['--seed', '11', '--sequence', 'empty,success', '--success-text', 'from a flag', '--lane-by', 'none'];
    const { port, ready } = await serving(
      '--scenario',
      await written(SCENARIO),
      ...flags,
      '--control-token',
      'from-a-flag',
    );
    expect(ready.randomSeed).toBe(11);
    // One cursor for all; what no flag names is as in the file.
    expect((await ask(port, 'own')).body).toContain('"content": ""');
    for (const lane of ['a', 'own']) expect((await ask(port, lane)).body).toContain('from a flag');
    expect((await ask(port, 'a', '/v1/responses')).body).toContain('max_output_tokens');
    const statuses = ['from-the-file', 'from-a-flag'].map(
      async (token) => (await control(port, 'GET /__control', { headers: { 'X-Wirefault-Token': token } })).status,
    );
    expect(await Promise.all(statuses)).toEqual([401, 200]);
  });

  it('is refused with the first problem and its place', async () => {
    const file = await written('sequence: [sucess]\nseed: -1\n');
    const { code, err } = await refusal('--scenario', file);
    expect(code).not.toBe(0);
    expect(err).toMatch(`${file}:1:12: sequence[0]: unknown behavior "sucess", did you mean "success"?`);
    expect(err).toContain('(and 1 more; `wirefault check');
  });
});

describe('flags of the control plane', () => {
  it('--no-control: there is none', async () => {
    const { port, ready } = await serving('--no-control');
    expect(ready).not.toHaveProperty('controlURL');
    expect((await control(port, 'GET /__control')).status).toBe(404);
    expect((await ask(port, 'a')).status).toBe(200);
  });

  it('--control-port: it is there, and only there; ready says where', async () => {
    const { port, ready } = await serving('--control-port', '0');
    const elsewhere = Number(new URL(String(ready.controlURL)).port);
    expect(elsewhere).not.toBe(port);
    expect((await control(port, 'GET /__control')).status).toBe(404);
    const body = { fault: 'rate_limit', once: true };
    expect((await control(elsewhere, 'POST /__control', { body })).status).toBe(201);
    expect((await ask(port, 'a')).status).toBe(429);
    // Ledgers are kept for it, once their evidence has settled.
    const lines = async () => (await control(elsewhere, 'GET /__journal')).body.toString().split('\n');
    await expect.poll(lines).toHaveLength(2);
  });

  it('--host 0.0.0.0: not without --control-token', async () => {
    const open = await serving('--host', '0.0.0.0');
    expect((await control(open.port, 'GET /__control')).status).toBe(403);
    const guarded = await serving('--host', '0.0.0.0', '--control-token', 's3cret');
    expect((await control(guarded.port, 'GET /__control')).status).toBe(401);
    const headers = { Authorization: 'Bearer s3cret' };
    expect((await control(guarded.port, 'GET /__control', { headers })).status).toBe(200);
  });
});
