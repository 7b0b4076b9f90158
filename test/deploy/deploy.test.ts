import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { CLI, started } from '../support/cli-process.js';
import { controlJson } from '../support/control.js';
import { NO_REDIS, redisServer } from '../support/redis.js';

/** What is in deploy/: linted, and started here as it would be there, as far as that goes without containers. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCKERFILE = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');

/** Installed by CI beside the PyPI clients; `undefined` where it isn't there. */
function tool(name: string): string | undefined {
  const path = join(ROOT, '.venv/bin', name);
  return existsSync(path) ? path : undefined;
}

function linted(command: string, ...args: string[]): { readonly status: number | null; readonly told: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8' });
  return { status, told: `${stdout}${stderr}` };
}

const COMPOSE =
  'import sys; from compose_spec import PyCompose; PyCompose.from_yaml(open(sys.argv[1]).read()).validate()';

/** Each with a mistake that it has to find, or its silence would say nothing. */
const LINTERS = [
  { file: 'Dockerfile', name: 'hadolint', args: [], right: 'USER 1000:1000', wrong: 'USER root' },
  { file: 'kubernetes.yaml', name: 'kubernetes-validate', args: ['--strict'], right: 'httpGet:', wrong: 'httpGett:' },
  { file: 'compose.yaml', name: 'python', args: ['-c', COMPOSE], right: 'healthcheck:', wrong: 'helthcheck:' },
] as const;

function has({ name }: (typeof LINTERS)[number]): boolean {
  const found = tool(name);
  return found !== undefined && (name !== 'python' || spawnSync(found, ['-c', 'import compose_spec']).status === 0);
}

describe('linters', () => {
  for (const linter of LINTERS) {
    const { file, name, args, right, wrong } = linter;
    it.skipIf(!has(linter))(`${file}: nothing to say, and something to one with a mistake`, () => {
      const command = tool(name) ?? '';
      expect(linted(command, ...args, join('deploy', file))).toMatchObject({ status: 0 });
      const dir = mkdtempSync(join(tmpdir(), 'wirefault-deploy-'));
      onTestFinished(() => rmSync(dir, { recursive: true }));
      const text = readFileSync(join(ROOT, 'deploy', file), 'utf8');
      expect(text).toContain(right);
      writeFileSync(join(dir, file), text.replace(right, wrong));
      expect(linted(command, ...args, join(dir, file)).status).not.toBe(0);
    });
  }
});

describe('Dockerfile', () => {
  it('copies what is there, and what the context lets through', () => {
    const ignored = readFileSync(join(ROOT, 'deploy/Dockerfile.dockerignore'), 'utf8').trim().split('\n');
    const copied = [...DOCKERFILE.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) =>
      paths.split(' '),
    );
    expect(copied).toContain('package-lock.json');
    expect(ignored[0]).toBe('*');
    for (const path of copied) {
      expect(existsSync(join(ROOT, path)), path).toBe(true);
      expect(ignored).toContain(`!${path}`);
    }
  });

  it('has all that the built command line reads beside itself', () => {
    // Whatever is named relative to a built file is in the image as well.
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.ts'),
    );
    const files = sources.map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'));
    const named = files.flatMap((text) => [...text.matchAll(/new URL\('((?:\.\.\/)+[^']+)', import\.meta\.url\)/g)]);
    const kept = [...DOCKERFILE.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, paths = '']) => paths.split(/[ /]/));
    for (const [, path = ''] of named) expect(kept, path).toContain(path.replaceAll('../', '').split('/')[0]);
  });

  it('runs on the Node that the package wants, as somebody who is not root', () => {
    const images = [...DOCKERFILE.matchAll(/^FROM node:(\d+)\.(\d+)/gm)].map(([, major, minor]) => [
      Number(major),
      Number(minor),
    ]);
    expect(images.length).toBe(2);
    for (const [major = 0, minor = 0] of images) expect(major > 20 || (major === 20 && minor >= 18)).toBe(true);
    expect(DOCKERFILE).toMatch(/^USER 1000:1000$/m);
  });

  it('its health check is one: healthy with a server, and not without', async () => {
    const check: string[] = JSON.parse(/^ {2}CMD (\[.+\])$/m.exec(DOCKERFILE)?.[1] ?? '[]');
    const [command, flag, program = ''] = check;
    expect([command, flag]).toEqual(['node', '-e']);
    const running = await serving(jsonAfter('CMD').map((arg) => (arg === '8000' ? '0' : arg)));
    const at = (port: number): string => program.replace(':8000', `:${port}`);
    const status = (port: number): Promise<unknown> => started(process.execPath, ['-e', at(port)]).ended;
    expect(await status(running.port)).toBe(0);
    running.child.kill('SIGTERM');
    await running.ended;
    expect(await status(running.port)).toBe(1);
  });
});

/** The list behind a word at the beginning of a line. */
function jsonAfter(word: string): string[] {
  return JSON.parse(new RegExp(`^${word} (\\[.+\\])$`, 'm').exec(DOCKERFILE)?.[1] ?? '[]');
}

/** The built command line with exactly these arguments. */
async function serving(args: readonly string[]) {
  const running = started(process.execPath, [CLI, ...args]);
  const { baseURL } = await running.event('ready');
  return { ...running, port: Number(new URL(String(baseURL)).port) };
}

/** As they stand in a manifest, for this machine. */
function here(
  args: readonly string[],
  { redis, scenario }: { readonly redis: string; readonly scenario: string },
): string[] {
  return args.map((arg) =>
    arg
      .replace(/^--port=8000$/, '--port=0')
      .replace(/^--state=redis:\/\/[\w-]+:6379/, `--state=${redis}`)
      .replace(/^--scenario=.*$/, `--scenario=${scenario}`)
      .replace(/\$\(CONTROL_TOKEN\)|\$\{\w+:-[\w-]+\}/, 'secret'),
  );
}

interface Manifest {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: { readonly spec: { readonly containers: readonly { readonly args: string[] }[] } };
  };
}

describe.skipIf(NO_REDIS)('what is started there starts here', () => {
  const manifests = parseAllDocuments(readFileSync(join(ROOT, 'deploy/kubernetes.yaml'), 'utf8')).map(
    (document): Manifest => document.toJS(),
  );
  const deployment = manifests.find(({ kind }) => kind === 'Deployment');
  const scenarioText = manifests.find(({ kind }) => kind === 'ConfigMap')?.data?.['scenario.yaml'] ?? '';
  const compose: { services: { wirefault: { command: string[] } } } = parse(
    readFileSync(join(ROOT, 'deploy/compose.yaml'), 'utf8'),
  );
  const cases = [
    ['kubernetes.yaml', deployment?.spec?.template?.spec.containers[0]?.args ?? []],
    ['compose.yaml', compose.services.wirefault.command],
  ] as const;
  for (const [file, args] of cases) {
    it(file, async () => {
      const redis = await redisServer();
      const dir = mkdtempSync(join(tmpdir(), 'wirefault-deploy-'));
      onTestFinished(() => rmSync(dir, { recursive: true }));
      const scenario = join(dir, 'scenario.yaml');
      writeFileSync(scenario, scenarioText);
      const { port } = await serving(here(args, { redis: redis.url, scenario }));
      expect(await controlJson(port, 'GET /__health')).toEqual({ status: 200, json: { state: 'shared' } });
      expect((await controlJson(port, 'GET /__control')).status).toBe(401);
      const headers = { Authorization: 'Bearer secret' };
      expect((await controlJson(port, 'GET /__control', { headers })).status).toBe(200);
    });
  }
});
