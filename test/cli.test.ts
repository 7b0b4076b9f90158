import { spawnSync } from 'node:child_process';
import net from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { faultOf } from '../src/fault/catalogue.js';
import { BEHAVIOR_NAMES, type BehaviorName, DEFAULT_RANDOM_WEIGHTS } from '../src/index.js';
import { OPTION_ROWS } from '../src/option-rows.js';
import { humanLine } from '../src/telemetry.js';
import { VERSION } from '../src/version.js';
import { CLI, portIn, type Running, run, serving, started } from './support/cli-process.js';
import { readAnswer } from './support/http.js';
import { post, type Witness, witness, witnessed } from './support/witness.js';

const PATH = '/v1/chat/completions';

describe('JSON lines in a pipe', () => {
  it('ready, request, result', async () => {
    const server = await serving();
    expect(server.ready).toMatchObject({
      level: 'info',
      time: expect.any(Number),
      type: 'ready',
      baseURL: `http://127.0.0.1:${server.port}/v1`,
      randomSeed: expect.any(Number),
      version: VERSION,
    });
    await witnessed(server.port, post(PATH, { stream: true }, { Connection: 'close' }));
    const exchange = { attempt: 1, scriptBehavior: 'success', behavior: 'success', path: PATH };
    const common = { level: 'info', time: expect.any(Number) };
    expect(await server.event('request')).toMatchObject({ ...common, type: 'request', ...exchange });
    expect(await server.event('result')).toMatchObject({
      ...common,
      type: 'result',
      ...exchange,
      outcome: 'completed',
      chunksSent: 6,
    });
  });

  it('a rejected request is a warning', async () => {
    const server = await serving();
    await witnessed(server.port, 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(await server.event('rejected')).toMatchObject({ level: 'warn', status: 404, path: '/nothing' });
  });

  it('unavailable, then ready', async () => {
    const server = await serving('--sequence', 'connection_refused,success', '--listen-delay-ms', '20');
    expect(server.lines.map((line) => JSON.parse(line))).toMatchObject([
      { type: 'unavailable', baseURL: server.ready.baseURL, delayMs: 20 },
      { type: 'ready' },
    ]);
  });

  it('unavailable and available around a window between two requests', async () => {
    const server = await serving('--sequence', 'success,connection_refused,rate_limit', '--listen-delay-ms', '20');
    await witnessed(server.port, post(PATH, {}, { Connection: 'close' }));
    await server.event('available');
    const { bytes } = await witnessed(server.port, post(PATH, {}, { Connection: 'close' }));
    expect(readAnswer(bytes)?.status).toBe(429);
    await server.event('result', 2);
    expect(server.lines.map((line) => JSON.parse(line).type)).toEqual([
      'ready',
      'request',
      'unavailable',
      'result',
      'available',
      'request',
      'result',
    ]);
  });

  it('--log-level warn prints no requests, silent prints nothing', async () => {
    const port = await freePort();
    for (const level of ['warn', 'silent']) {
      const server = started(process.execPath, [CLI, '--port', String(port), '--log-level', level]);
      await connectable(port);
      await witnessed(port, post(PATH, {}, { Connection: 'close' }));
      await witnessed(port, 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      server.child.kill('SIGTERM');
      expect(await server.ended).toBe(143);
      expect(server.lines.map((line) => JSON.parse(line).type)).toEqual(level === 'warn' ? ['rejected'] : []);
    }
  });
});

async function freePort(): Promise<number> {
  const { port, close } = await occupied();
  await close();
  return port;
}

/** A port that another program listens on. */
async function occupied(): Promise<{ port: number; close(): Promise<unknown> }> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('a listening server has an address');
  return { port: address.port, close: () => new Promise((resolve) => server.close(resolve)) };
}

/** Whether the port could be taken, for the rest of the test. */
async function taken(port: number): Promise<boolean> {
  const thief = net.createServer();
  const listening = new Promise<boolean>((resolve) => {
    thief.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (await listening) {
    onTestFinished(() => {
      thief.close();
    });
  }
  return listening;
}

/** Connects until somebody listens. */
async function connectable(port: number): Promise<void> {
  while (true) {
    const client = witness(port);
    const connected = await client.connected.then(
      () => true,
      () => false,
    );
    client.close();
    if (connected) return;
  }
}

/** Arguments, and what the line says beside the option and the value. */
interface Refused {
  readonly args: readonly string[];
  readonly says: readonly string[];
}

const RANDOM = ['--sequence', 'random'];

const REFUSED: readonly Refused[] = [
  { args: ['--port', '70000'], says: ['--port: 70000', 'a whole number from 0 to 65535'] },
  { args: ['--chunk-delay-ms', '1.5'], says: ['--chunk-delay-ms: 1.5', 'a whole number of milliseconds from 0 to'] },
  { args: ['--chunk-size', '0'], says: ['--chunk-size: 0', 'from 1 to'] },
  { args: ['--listen-delay-ms', '2147483648'], says: ['--listen-delay-ms: 2147483648', 'to 2147483647'] },
  { args: ['--retry-after-ms', '0'], says: ['--retry-after-ms: 0', 'from 1 to'] },
  { args: ['--port', ''], says: ['--port: ""', 'a whole number from 0 to 65535'] },
  { args: ['--port', '0x10'], says: ['--port: "0x10"'] },
  { args: ['--port', '1e3'], says: ['--port: "1e3"'] },
  { args: ['--host', ''], says: ['--host: ""', 'a host name or an IP address'] },
  { args: ['--request-id', 'a\r\nx: y'], says: ['--request-id: "a\\r\\nx: y"', 'visible ASCII'] },
  { args: ['--request-id', 'caf\u00e9'], says: ['--request-id: "caf\u00e9"', 'visible ASCII'] },
  { args: ['--request-id', ''], says: ['--request-id: ""', 'visible ASCII'] },
  { args: ['--api-key', 'two words'], says: ['--api-key: "(hidden)"', 'visible ASCII'] },
  { args: ['--tool-name', ''], says: ['--tool-name: ""', 'text that is not empty'] },
  { args: ['--tool-arguments', '[1]'], says: ['--tool-arguments: "[1]"', 'the text of a JSON object'] },
  { args: ['--tool-arguments', '{'], says: ['--tool-arguments: "{"', 'the text of a JSON object'] },

  {
    args: ['--sequence', 'succes'],
    says: ['--sequence', '"succes"', 'did you mean "success"?', 'the nearest success,'],
  },
  { args: ['--sequence', 'success,,stall'], says: ['--sequence', '""', ' are known, the nearest '] },
  { args: ['--sequence', ''], says: ['--sequence', '""', ' are known, the nearest '] },
  { args: ['--sequence', 'a\nb'], says: ['--sequence', '"a\\nb"', ' are known, the nearest '] },
  {
    args: ['--sequence', 'success,connection_refused', '--repeat-last'],
    says: ['sequence', "connection_refused can't be the last entry", 'end the sequence with a behavior that answers'],
  },

  { args: ['--random-weights', 'success=1'], says: ['--random-weights', 'without random in --sequence'] },
  { args: [...RANDOM, '--seed', 'x'], says: ['--seed: "x"', 'a whole number from 0 to 4294967295'] },
  { args: [...RANDOM, '--seed', '-1'], says: ['--seed: -1', 'from 0 to 4294967295'] },
  { args: [...RANDOM, '--seed', '4294967296'], says: ['--seed: 4294967296', 'from 0 to 4294967295'] },
  { args: [...RANDOM, '--random-weights', 'stal=1'], says: ['--random-weights', '"stal"', 'did you mean "stall"?'] },
  { args: [...RANDOM, '--random-weights', 'toString=1'], says: ['--random-weights', '"toString"', ' are known, '] },
  { args: [...RANDOM, '--random-weights', 'random=1'], says: ['--random-weights', '"random"', ' are known, '] },
  {
    args: [...RANDOM, '--random-weights', 'stall=1,success=2,stall=3'],
    says: ['--random-weights', '"stall=3"', 'stall has a weight already'],
  },
  {
    args: [...RANDOM, '--random-weights', 'stall=-1'],
    says: ['--random-weights', '"stall=-1"', 'behavior=weight with a number of at least 0'],
  },
  { args: [...RANDOM, '--random-weights', 'stall'], says: ['--random-weights', '"stall"', 'behavior=weight'] },
  { args: [...RANDOM, '--random-weights', ''], says: ['--random-weights', '""', 'behavior=weight'] },
  {
    args: [...RANDOM, '--random-weights', 'stall=0,success=0'],
    says: ['--random-weights', '"stall":0', 'at least one weight above 0'],
  },

  { args: ['--log-level', 'loud'], says: ['--log-level', '"loud"', 'known: trace, debug, info'] },
  { args: ['--prot', '1'], says: ["'--prot'", 'Did you mean --port?'] },
  { args: ['--delay', '1.5'], says: ["'--delay'"] },
  { args: ['--repeat-last=no'], says: ["'--repeat-last=no'"] },
  { args: ['--port'], says: ["'--port <n>'", 'argument missing'] },
  { args: ['behaviour'], says: ['"behaviour"', 'did you mean "behaviors"?', 'known: serve, behaviors'] },
  { args: ['serve', 'now'], says: ['"now"', 'known: serve, behaviors'] },
  { args: ['--port', '0', 'now'], says: ['"now"', 'known: serve, behaviors'] },
  { args: ['behaviors', 'now'], says: ['behaviors', '0 arguments'] },
];

describe.concurrent('wrong values: exit code 2, and one line that names the option, the value and what is allowed', () => {
  for (const { args, says } of REFUSED) {
    it(JSON.stringify(args.join(' ')), async ({ expect }) => {
      const { code, stdout, stderr } = await run(...args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/^wirefault: .+\n$/);
      for (const text of says) expect(stderr).toContain(text);
    });
  }

  for (const [name, { allowed, parse, schema }] of Object.entries(OPTION_ROWS)) {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    // Free text may be anything. The other values that are refused are those of test/options.test.ts.
    if (schema.safeParse(parse('x')).success) continue;
    it(`${flag} x`, async ({ expect }) => {
      expect(await run(flag, 'x')).toEqual({
        code: 2,
        stdout: '',
        stderr: `wirefault: ${flag}: "x" is not allowed; expected ${allowed}\n`,
      });
    });
  }

  it('a refused API key is not shown', async ({ expect }) => {
    const { stderr } = await run('--api-key', 'my secret');
    expect(stderr).not.toContain('secret');
  });
});

describe('what the shell gets', () => {
  it('1 and one line for a busy port', async () => {
    const { port, close } = await occupied();
    onTestFinished(async () => {
      await close();
    });
    expect(await run('--port', String(port))).toEqual({
      code: 1,
      stdout: '',
      stderr: `wirefault: port ${port}: 127.0.0.1:${port} is in use by another program; choose another port, or 0 for a free one\n`,
    });
  });

  it('1 and one line for an address that this machine does not have', async () => {
    const { code, stdout, stderr } = await run('--port', '0', '--host', '192.0.2.1');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^wirefault: .*192\.0\.2\.1.*this machine has no such address\n$/);
  });

  it('1 and one line when the port was taken in a refusal window, and the event is printed', async () => {
    const windows = Array.from({ length: 100 }, () => 'success,connection_refused').join(',');
    const server = await serving('--sequence', windows, '--listen-delay-ms', '200');
    // A window may be over before we have the port: then it is taken in the next one.
    for (let n = 1; ; n++) {
      await witnessed(server.port, post(PATH, {}, { Connection: 'close' }));
      if (await taken(server.port)) break;
      await server.event('available', n);
    }
    const reason = expect.stringMatching(`^port ${server.port}: .* is in use by another program; .+$`);
    expect(await server.event('listen_failed')).toMatchObject({ level: 'error', reason });
    expect(await server.ended).toBe(1);
    expect(server.stderr()).toMatch(/^wirefault: port .+\n$/);
  });

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    it(`${code} for ${signal}; a stalled connection is closed, and its result is printed`, async () => {
      const server = await serving('--sequence', 'stall');
      const client = witness(server.port);
      client.send(post(PATH, { stream: true }));
      await client.until((bytes) => bytes.includes('\r\n\r\n'));
      server.child.kill(signal);
      expect(await client.ended).toBe('fin');
      expect(await server.ended).toBe(code);
      expect(JSON.parse(server.lines.at(-1) ?? '')).toMatchObject({ type: 'result', outcome: 'stalled' });
    });
  }

  it('130 in a refusal window', async () => {
    const server = started(process.execPath, [
      ...[CLI, '--port', '0', '--sequence', 'connection_refused,success', '--listen-delay-ms', '600000'],
    ]);
    await server.event('unavailable');
    server.child.kill('SIGINT');
    expect(await server.ended).toBe(130);
    expect(server.lines).toHaveLength(1);
  });

  it('a reader that stops reading holds up neither the answers nor the end', async () => {
    const { child, port, ended } = await serving('--sequence', 'success', '--repeat-last');
    child.stdout?.pause();
    const client = witness(port);
    // More lines than a pipe takes: 64 KiB in the kernel, as much again in our own buffer.
    for (let n = 0; n < 60; n++) {
      const from = client.received.length;
      client.send(post(PATH, {}).repeat(16));
      await client.until((bytes) => bytes.toString('latin1', from).split('HTTP/1.1 200 ').length - 1 === 16);
    }
    child.kill('SIGTERM');
    const code = await new Promise((resolve) => child.once('exit', resolve));
    expect(code).toBe(143);
    child.stdout?.resume();
    await ended;
  });

  it('nor does one who is gone', async () => {
    const server = await serving('--sequence', 'stall', '--repeat-last');
    const clients = await Promise.all([stalled(server.port), stalled(server.port), stalled(server.port)]);
    server.child.stdout?.destroy();
    server.child.kill('SIGINT');
    for (const client of clients) expect(await client.ended).toBe('fin');
    expect(await server.ended).toBe(130);
  });
});

async function stalled(port: number): Promise<Witness> {
  const client = witness(port);
  client.send(post(PATH, { stream: true }));
  await client.until((bytes) => bytes.includes('\r\n\r\n'));
  return client;
}

describe('random', () => {
  /** The behaviors of the first 20 requests, one after the other. */
  async function drawn(...args: string[]): Promise<{ seed: string; behaviors: unknown[] }> {
    const server = await serving('--sequence', 'random', '--repeat-last', ...args);
    const behaviors: unknown[] = [];
    for (let n = 1; n <= 20; n++) {
      const client = witness(server.port);
      client.send(post(PATH, { stream: true }));
      const request = await server.event('request', n);
      expect(request.scriptBehavior).toBe('random');
      behaviors.push(request.behavior);
      client.close();
    }
    return { seed: String(server.ready.randomSeed), behaviors };
  }

  it('--seed 42 twice: the same 20 behaviors in the same order', async () => {
    const first = await drawn('--seed', '42');
    expect(first.seed).toBe('42');
    expect(new Set(first.behaviors).size).toBeGreaterThan(3);
    expect(await drawn('--seed', '42')).toEqual(first);
    expect((await drawn('--seed', '43')).behaviors).not.toEqual(first.behaviors);
  });

  it('without --seed one is printed, which draws the same again', async () => {
    const first = await drawn();
    expect(await drawn('--seed', first.seed)).toEqual(first);
  });

  it('--seed without random is that of the ids of the answers', async () => {
    const idOf = async (...args: string[]): Promise<string | undefined> => {
      const { port } = await serving(...args);
      const { bytes } = await witnessed(port, post(PATH, {}, { Connection: 'close' }));
      return /"id": *"(chatcmpl-\w+)"/.exec(bytes.toString())?.[1];
    };
    const first = await idOf('--seed', '42');
    expect(first).toBeDefined();
    expect(await idOf('--seed', '42')).toBe(first);
    expect(await idOf('--seed', '43')).not.toBe(first);
  });

  it('--random-weights are those that are drawn from', async () => {
    const { behaviors } = await drawn('--random-weights', ' stall = 0.5 ,rate_limit=0', '--seed', '0');
    expect(new Set(behaviors)).toEqual(new Set(['stall']));
  });
});

describe('what it says of itself', () => {
  it('--version', async () => {
    expect(await run('--version')).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
  });

  for (const args of [['--help'], ['serve', '--help'], ['help', 'serve']]) {
    it(`${args.join(' ')}: every option, its default, and lines of at most 100 columns`, async () => {
      const { code, stdout, stderr } = await run(...args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const flags = [...stdout.matchAll(/^ +(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag);
      expect(flags).toEqual(expect.arrayContaining(FLAGS));
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
      const words = stdout.replace(/\s+/g, ' ');
      for (const value of ['8000', '127.0.0.1', 'mock response recovered', '{"value":"mock"}', '750', '1000']) {
        expect(words).toContain(`(default: ${value})`);
      }
      for (const [name, weight] of Object.entries(DEFAULT_RANDOM_WEIGHTS)) expect(words).toContain(`${name}=${weight}`);
    });
  }

  it('behaviors: each with what it means', async () => {
    const { code, stdout } = await run('behaviors');
    expect(code).toBe(0);
    const [titles, ...rows] = stdout.trimEnd().split('\n');
    expect(titles?.split(/ {2,}/)).toEqual(['behavior', 'layer', 'teardown', 'evidence', 'meaning']);
    expect(rows.map((row) => /^(\S+) {2,}\S/.exec(row)?.[1])).toEqual([...BEHAVIOR_NAMES, 'random']);
    for (const row of rows.slice(0, -1)) expect(row.split(/ {2,}/)).toHaveLength(5);
  });

  it('behaviors --json: the same as data', async () => {
    const { code, stdout } = await run('behaviors', '--json');
    expect(code).toBe(0);
    const rows: { name: BehaviorName; meaning: string; defaultWeight: number; fault: object }[] = JSON.parse(stdout);
    expect(rows.map(({ name }) => name)).toEqual(BEHAVIOR_NAMES);
    const weighted = rows.filter(({ defaultWeight }) => defaultWeight > 0);
    expect(Object.fromEntries(weighted.map((row) => [row.name, row.defaultWeight]))).toEqual(DEFAULT_RANDOM_WEIGHTS);
    for (const row of rows) {
      const text = expect.stringMatching(/./);
      expect(row).toMatchObject({ meaning: text, layer: text, teardown: text, evidence: text });
      expect(row.fault).toEqual(faultOf(row.name));
    }
  });
});

const FLAGS = [
  '--host',
  '--port',
  '--api-key',
  '--sequence',
  '--repeat-last',
  '--seed',
  '--random-weights',
  '--listen-delay-ms',
  '--success-text',
  '--partial-text',
  '--reasoning-text',
  '--chunk-size',
  '--chunk-delay-ms',
  '--disconnect-delay-ms',
  '--retry-after-ms',
  '--request-id',
  '--tool-name',
  '--tool-arguments',
  '--log-level',
];

const script = spawnSync('script', ['--version']).stdout?.toString().includes('util-linux') === true;

describe('on a terminal', () => {
  /** The command line with a terminal of its own; what is written to stdin is typed there. */
  const onTerminal = (args: string, env = ''): Running =>
    started('script', ['-qec', `${env} '${process.execPath}' '${CLI}' --port 0 ${args}`, '/dev/null'], 'pipe');

  it.skipIf(!script)(
    `lines for people, and Ctrl-C${script ? '' : ' (skipped: script of util-linux is not installed)'}`,
    async () => {
      const server = onTerminal('', 'NO_COLOR=1');
      const ready = await server.line((line) => line.includes('is listening at'));
      expect(ready).toMatch(/^wirefault \S+ is listening at http:\/\/127\.0\.0\.1:\d+\/v1$/);
      await server.line((line) => /^seed \d+; Ctrl-C stops it$/.test(line));
      await witnessed(portIn(ready), post(PATH, { stream: true }, { Connection: 'close' }));
      await server.line((line) => line === `#1 ${PATH} \u2192 success`);
      await server.line((line) => line === '#1 success: completed, 6 events sent');
      server.child.stdin?.write('\x03');
      expect(await server.ended).toBe(130);
    },
  );

  it.skipIf(!script)(`--json${script ? '' : ' (skipped: script of util-linux is not installed)'}`, async () => {
    const server = onTerminal('--json');
    expect(await server.event('ready')).toMatchObject({ version: VERSION });
    server.child.stdin?.write('\x03');
    expect(await server.ended).toBe(130);
  });

  it('each event has its line', () => {
    const plain = (_: unknown, text: string): string => text;
    const exchange = { attempt: 3, scriptBehavior: 'random', behavior: 'stall', path: '/x' } as const;
    const baseURL = 'http://h:1/v1';
    expect(humanLine({ type: 'unavailable', baseURL, delayMs: 7 }, plain)).toBe(
      'port closed: http://h:1/v1 refuses connections for 7 ms',
    );
    expect(humanLine({ type: 'unavailable', baseURL, attempts: 3 }, plain)).toBe(
      'port closed: http://h:1/v1 refuses 3 connections',
    );
    expect(humanLine({ type: 'unavailable', baseURL, delayMs: 7, blackhole: true }, plain)).toBe(
      'port blocked: http://h:1/v1 answers no connect for 7 ms',
    );
    expect(humanLine({ type: 'idle_fault', connection: 2, did: 'stray', when: 'idle' }, plain)).toBe(
      'connection 2: stray, behind an answer',
    );
    expect(humanLine({ type: 'idle_fault', connection: 2, did: 'rst', when: 'request' }, plain)).toBe(
      'connection 2: rst, at the first byte of a request',
    );
    expect(humanLine({ type: 'available', baseURL }, plain)).toBe('port open: http://h:1/v1 accepts connections again');
    expect(humanLine({ type: 'listen_failed', reason: 'why' }, plain)).toBe('why');
    expect(humanLine({ type: 'upstream_insecure', upstream: 'https://u' }, plain)).toBe(
      'the certificate of https://u is NOT checked: whoever is in between reads keys and answers',
    );
    expect(humanLine({ type: 'request', ...exchange }, plain)).toBe('#3 /x \u2192 stall (random)');
    expect(humanLine({ type: 'result', ...exchange, outcome: 'stalled', chunksSent: 1 }, plain)).toBe(
      '#3 stall: stalled, 1 event sent',
    );
    expect(humanLine({ type: 'rejected', status: 404, reason: 'why', path: '/x' }, plain)).toBe(
      'rejected with 404 /x: why',
    );
    expect(humanLine({ type: 'rejected', status: 400, reason: 'why' }, plain)).toBe('rejected with 400: why');
  });
});
