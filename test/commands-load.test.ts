import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addLoadCommand } from '../src/commands/load.js';
import { loadSchema } from '../src/load/load-report.js';
import { CLI, started } from './support/cli-process.js';
import { type CommandRun, runCommand } from './support/command.js';
import { serve } from './support/server.js';

function ran(...args: string[]): Promise<CommandRun> {
  return runCommand(addLoadCommand, ['load', ...args]);
}

async function fileOf(text: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'wf-load-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, 'file'), text);
  return join(dir, 'file');
}

const KEY = 'WIREFAULT_TEST_LOAD_KEY';

describe('wirefault load', () => {
  it('prints what was asked, the ends and the times', async () => {
    const server = await serve({ sequence: ['success', 'rst@event:3', 'success'] });
    const { code, out, err } = await ran(server.baseURL, '--requests', '3', '--concurrency', '1');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions, openai-chat, 1 at a time\n3 of 3 requests /,
    );
    expect(out).toMatch(/\n {2}complete {2}2 +66\.7 % .*\n {2}reset +1 +33\.3 % .*; the first: read ECONNRESET\n/);
    expect(out).toMatch(/\nto the first content +3 /);
  });

  it('--json prints one document; all of the request is as it was asked for', async () => {
    process.env[KEY] = 'sk-load-secret';
    onTestFinished(() => {
      delete process.env[KEY];
    });
    const server = await serve({ sequence: ['success'], repeatLast: true });
    const asked = ['--protocol', 'anthropic-messages', '--model', 'm', '--prompt', 'p', '--key-env', KEY];
    const more = ['--header', 'X-A: b', '--lane-header', 'x-lane', '--no-stream', '--concurrency', '1'];
    const url = `${server.baseURL}/v1?api_key=sk-in-the-query`;
    const { code, out, err } = await ran(url, ...asked, ...more, '--requests', '2', '--json');
    expect(code).toBe(0);
    const report = loadSchema.parse(JSON.parse(out));
    expect(report).toMatchObject({ protocol: 'anthropic-messages', stream: false, ended: 2, concurrency: 1 });
    const [request] = server.requests;
    expect(request?.headers).toMatchObject({ 'x-api-key': 'sk-load-secret', 'x-a': 'b', 'x-lane': '1' });
    expect(request).toMatchObject({
      path: '/v1/messages',
      body: { model: 'm', stream: false, messages: [{ role: 'user', content: 'p' }] },
    });
    expect(out + err).not.toMatch(/sk-/);
  });

  it('--body is sent as it is, and says itself whether it asks for a stream', async () => {
    const server = await serve({ sequence: ['success'], repeatLast: true });
    const body = '{"model": "mine",   "stream": true}';
    const { out } = await ran(server.baseURL, '--body', await fileOf(body), '--requests', '1', '--json');
    expect(loadSchema.parse(JSON.parse(out))).toMatchObject({ stream: true, ends: [{ kind: 'complete' }] });
    await server.idle();
    expect(server.ledgers[0]?.request?.bodyBytes).toBe(body.length);
  });

  it('--duration ends it, and --read-rate slows it down', async () => {
    const server = await serve({ sequence: ['success'], repeatLast: true });
    const args = ['--duration', '300ms', '--read-rate', '20000', '--concurrency', '2', '--json'];
    const report = loadSchema.parse(JSON.parse((await ran(server.baseURL, ...args)).out));
    expect(report).toMatchObject({ stoppedBy: 'duration', readBytesPerSecond: 20_000 });
    expect(report.bodyBytes).toBeLessThanOrEqual((2 * 20_000 * report.elapsedMs) / 1000);
  });

  it.each([
    [['--fail-on', 'incomplete'], 1, '--fail-on incomplete: 1 of 2\n'],
    [['--fail-on', 'http_5xx,reset'], 1, '--fail-on http_5xx: 1 of 2\n'],
    [['--fail-on', 'reset'], 0, ''],
    [['--max-errors', '0'], 1, '--max-errors 0: 1 were not complete\n'],
    [['--max-errors', '1'], 0, ''],
  ])('%j makes the exit code %i', async (args, code, err) => {
    const server = await serve({ sequence: ['success', 'service_unavailable'] });
    const run = await ran(server.baseURL, '--requests', '2', ...args);
    expect({ code: run.code, err: run.err }).toEqual({ code, err });
  });

  it('--insecure is loud', async () => {
    const server = await serve({ sequence: ['success'] });
    const { err, out } = await ran(server.baseURL.replace('http', 'https'), '--insecure', '--requests', '1');
    expect(err).toMatch(/--insecure: the server's certificate is NOT checked/);
    expect(out).toMatch(/connect_failed {2}1 /);
  });

  it('Ctrl-C prints what was measured until then, and exits with 130', async ({ skip }) => {
    skip(!existsSync(CLI), 'dist is not built');
    const server = await serve({ sequence: ['success', 'stall'], repeatLast: true });
    const running = started(process.execPath, [CLI, 'load', server.baseURL, '--concurrency', '1', '--json']);
    const behavior = 'stall';
    await server.event((event) => event.type === 'request' && event.behavior === behavior);
    running.child.kill('SIGINT');
    expect(await running.ended).toBe(130);
    expect(loadSchema.parse(JSON.parse(running.lines.join('\n')))).toMatchObject({
      stoppedBy: 'signal',
      started: 2,
      ends: [{ count: 1 }, { count: 1 }],
    });
  });
});

const URL = 'http://127.0.0.1:1';

describe('wrong usage', () => {
  it.each([
    [[], /missing required argument 'url'/],
    [['127.0.0.1:8000'], /load: "127\.0\.0\.1:8000" is not allowed; expected an http:\/\/ or https:\/\/ URL/],
    [['http://me:secret@h'], /load: a URL with a name or a password in it is not allowed/],
    [[URL, '--protocol', 'openai-chatt'], /--protocol: unknown protocol "openai-chatt", did you mean "openai-chat"/],
    [[URL, '--concurrency', '0'], /--concurrency: "0" is not allowed/],
    [[URL, '--concurrency', '70000'], /--concurrency: 70000 is not allowed; expected at most 65535/],
    [[URL, '--timeout-ms', '9999999999'], /--timeout-ms: 9999999999 is not allowed; expected at most 2147483647/],
    [[URL, '--requests', 'many'], /--requests/],
    [[URL, '--duration', '5x'], /--duration: "5x" is not allowed; expected a time such as 90s/],
    [[URL, '--read-rate', '0'], /--read-rate/],
    [[URL, '--timeout-ms', '0'], /--timeout-ms/],
    [[URL, '--max-errors', '-1'], /--max-errors/],
    [[URL, '--fail-on', 'resets'], /--fail-on: unknown end "resets", did you mean "reset"/],
    [[URL, '--header', 'nothing'], /--header: "nothing" is not allowed/],
    [[URL, '--header', 'Authorization Bearer sk-1'], /--header: "Authorization \(hidden\)" is not allowed/],
    [[URL, '--header', 'keep-alive: 5', '--requests', '1'], /invalid keep-alive header/],
    [[URL, '--lane-header', 'x lane'], /--lane-header: "x lane" is not allowed; expected the name of a header/],
    [[URL, '--key-env', 'WIREFAULT_NO_SUCH'], /--key-env: the environment variable WIREFAULT_NO_SUCH is not set/],
    [[URL, '--body', '/nowhere'], /--body: can't read \/nowhere/],
    [[URL, '--body', 'README.md'], /--body: README\.md is no JSON/],
    [[URL, '--body', 'package.json', '--model', 'm'], /--model: has no meaning with --body/],
    [[URL, '--body', 'package.json', '--no-stream'], /--no-stream: has no meaning with --body/],
    [[URL, '--ca', 'package.json'], /--ca: can't use package\.json/],
  ])('%j', async (args, message) => {
    const { code, err } = await ran(...args);
    expect(err).toMatch(message);
    expect(err).not.toMatch(/secret|sk-1/);
    expect(code).toBe(2);
  });
});
