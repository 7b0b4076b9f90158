import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { VERSION } from '../src/version.js';

/** The package as its users get it: packed, installed into an empty project, imported, run and type-checked there. */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TSC = path.join(ROOT, 'node_modules', '.bin', 'tsc');
const TYPES = path.join(ROOT, 'node_modules', '@types');
const LIMIT_MS = 180_000;

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(cwd: string, command: string, ...args: string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(command, args, { cwd }, (_, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}

let project = '';
let packed: { filename: string; files: { path: string }[] };
/** Why npm could not install, where that was the network's fault. */
let offline: string | undefined;

beforeAll(async () => {
  project = await mkdtemp(path.join(os.tmpdir(), 'wirefault-package-'));
  // Without scripts: `npm test` has built, and other tests are running what was built.
  const pack = await run(ROOT, 'npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', project);
  expect(pack).toMatchObject({ code: 0 });
  [packed] = JSON.parse(pack.stdout);
  await writeFile(path.join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  const flags = ['--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  const install = await run(project, 'npm', 'install', ...flags, path.join(project, packed.filename));
  if (/ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ENOTCACHED|ENETUNREACH/.test(install.stderr))
    offline = install.stderr;
  else expect(install).toMatchObject({ code: 0 });
}, LIMIT_MS);

afterAll(() => rm(project, { recursive: true, force: true }));

it('only what users need is in the package', () => {
  const paths = packed.files.map((file) => file.path);
  expect(paths).toEqual(expect.arrayContaining(['LICENSE', 'package.json', 'dist/index.js', 'dist/index.d.ts']));
  const others = paths.filter(
    (file) =>
      !/^(dist\/.+\.(js|d\.ts)|scenarios\/.+\.yaml|scenarios\/scenario\.schema\.json|docs\/[^/]+\.md|docs\/performance\/[^/]+\.svg|README\.md|LICENSE|package\.json)$/.test(
        file,
      ),
  );
  expect(others).toEqual([]);
});

const SCRIPT = `
import { BEHAVIOR_NAMES, startFaultServer } from 'wirefault';
const server = await startFaultServer({ sequence: ['rate_limit'] });
const { status } = await fetch(server.baseURL + '/v1/chat/completions', { method: 'POST', body: '{}' });
await server.close();
console.log(JSON.stringify({ status, requests: server.requests.length, known: BEHAVIOR_NAMES.includes('stall') }));
`;

const WITHOUT_KOFFI = `
import { connect } from 'node:net';
import { startFaultServer } from 'wirefault';
const koffi = await import('koffi').then(() => 'there', (error) => error.code);
const server = await startFaultServer({ sequence: ['partial_disconnect'], chunkDelayMs: 0 });
const socket = connect(server.port, '127.0.0.1').resume().on('error', () => {});
socket.write('POST /v1/messages HTTP/1.1\\r\\ncontent-length: 2\\r\\n\\r\\n{}');
const { evidence, outcome, bytes, settled } = await server.ledger(1);
await server.close();
console.log(JSON.stringify({ koffi, evidence, outcome, bytes, settled, received: socket.bytesRead }));
`;

const TYPED = `
import { type BehaviorName, type FaultServer, type FaultServerOptions, startFaultServer, WirefaultError } from 'wirefault';
const names: readonly BehaviorName[] = ['success', 'F1+'];
const sequence: FaultServerOptions['sequence'] = [
  ...names, 'random', 'rst@event:3+17', 'of_my_own', { cut: { at: 'headers', teardown: 'fin' } }
];
const options: FaultServerOptions = { sequence, chunkSize: 3, onEvent: (event) => console.log(event.type) };
await using server: FaultServer = await startFaultServer(options);
const outcome: string | undefined = server.requests[0]?.outcome;
console.log(server.port.toFixed(), outcome, new WirefaultError('bad_option', 'x').code);
`;

const MISTAKES = `
import { type BehaviorName, startFaultServer } from 'wirefault';
const name: BehaviorName = 'succes';
await startFaultServer({ chunksize: 3 });
await startFaultServer({ sequence: [name, { cut: { at: 'headers', teardown: 'rts' } }] });
`;

describe('in an empty project', () => {
  it('a script imports it, starts a server, asks it and ends', async (ctx) => {
    ctx.skip(offline !== undefined, `npm can't reach the registry: ${offline}`);
    await writeFile(path.join(project, 'use.mjs'), SCRIPT);
    const { code, stdout, stderr } = await run(project, process.execPath, 'use.mjs');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ status: 429, requests: 1, known: true });
  });

  it('npm install --omit=optional works: without koffi the evidence comes from /proc', {
    timeout: LIMIT_MS,
  }, async (ctx) => {
    ctx.skip(offline !== undefined, `npm can't reach the registry: ${offline}`);
    // Not inside of the other project, whose koffi it would find.
    const bare = await mkdtemp(path.join(os.tmpdir(), 'wirefault-bare-'));
    onTestFinished(() => rm(bare, { recursive: true, force: true }));
    await writeFile(path.join(bare, 'package.json'), '{ "private": true, "type": "module" }\n');
    const flags = ['--omit=dev', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
    expect(await run(bare, 'npm', 'install', ...flags, path.join(project, packed.filename))).toMatchObject({ code: 0 });
    await writeFile(path.join(bare, 'use.mjs'), WITHOUT_KOFFI);
    const { code, stdout, stderr } = await run(bare, process.execPath, 'use.mjs');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const seen: { bytes: { written: number }; received: number } = JSON.parse(stdout);
    const { written } = seen.bytes;
    const procfs = process.platform === 'linux';
    expect(seen).toMatchObject({
      koffi: 'ERR_MODULE_NOT_FOUND',
      evidence: procfs ? 'procfs' : 'callbacks',
      outcome: 'reset',
      bytes: { written, flushed: written, acked: procfs ? written : null, read: procfs ? written : null },
      received: written,
    });
  });

  it('npx wirefault --version', async (ctx) => {
    ctx.skip(offline !== undefined, `npm can't reach the registry: ${offline}`);
    const { code, stdout } = await run(project, 'npx', '--no-install', 'wirefault', '--version');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${VERSION}\n` });
  });

  it('what the package does not export stays private', async (ctx) => {
    ctx.skip(offline !== undefined, `npm can't reach the registry: ${offline}`);
    const { code, stderr } = await run(project, process.execPath, '-e', "import('wirefault/dist/server.js')");
    expect(code).toBe(1);
    expect(stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  for (const [file, text, errors] of [
    ['typed.ts', TYPED, []],
    ['mistakes.ts', MISTAKES, ['mistakes.ts(3,', 'mistakes.ts(4,', 'mistakes.ts(5,']],
  ] as const) {
    it(`${file} is type-checked with strict: ${errors.length} errors`, { timeout: LIMIT_MS }, async (ctx) => {
      ctx.skip(offline !== undefined, `npm can't reach the registry: ${offline}`);
      await writeFile(path.join(project, file), text);
      const flags = '--noEmit --strict --target es2023 --module nodenext --types node --lib es2023,esnext.disposable';
      const { stdout } = await run(project, TSC, ...flags.split(' '), '--typeRoots', TYPES, file);
      const lines = stdout.split('\n').filter((line) => line.includes('error TS'));
      expect(lines).toEqual(errors.map((start) => expect.stringContaining(start)));
    });
  }
});
