import { describe, expect, it } from 'vitest';
import { flagOf } from '../../src/commands/flags.js';
import { addProxyCommand } from '../../src/commands/proxy.js';
import { UPSTREAM_OPTION_NAMES } from '../../src/proxy/upstream-options.js';
import { run } from '../support/cli-process.js';
import { runCommand } from '../support/command.js';

/** How `wirefault proxy` is called, and what is said where it is called wrongly. */
const UP = ['--upstream', 'http://127.0.0.1:9'];
const SECURE = ['--upstream', 'https://127.0.0.1:9'];

describe('wrong values: exit code 2, and one line that says what is wrong', () => {
  it.each([
    [
      ['--upstream', ''],
      ['--upstream: ""', 'a URL such as https://api.example.com'],
    ],
    [
      ['--upstream', 'localhost:9'],
      ['--upstream: "localhost:9"', 'a URL such as'],
    ],
    [
      ['--upstream', 'ftp://x'],
      ['--upstream: "ftp://x"', 'a URL such as'],
    ],
    [
      ['--upstream', 'https://x/?a=b'],
      ['--upstream', 'without a user, a query or a fragment'],
    ],
    [['--upstream', 'https://me:secret@x'], ['--upstream: "https://(hidden)@x"']],
    [
      [...UP, '--upstream-key-env', 'WIREFAULT_NO_SUCH'],
      ['--upstream-key-env', 'WIREFAULT_NO_SUCH is not set'],
    ],
    [
      [...UP, '--on-upstream-error', '503'],
      ['--on-upstream-error: "503"', 'one of mirror, 502'],
    ],
    [
      [...UP, '--upstream-timeout-ms', '1.5'],
      ['--upstream-timeout-ms: 1.5', 'a whole number from 0 to'],
    ],
    [
      [...UP, '--upstream-timeout-ms', 'soon'],
      ['--upstream-timeout-ms: "soon"', 'a whole number from 0 to'],
    ],
    [
      [...UP, '--max-buffer-bytes', '-1'],
      ['--max-buffer-bytes: -1', 'a whole number from 0 to'],
    ],
    [
      [...UP, '--upstream-ca', 'x'],
      ['--upstream-ca: "x"', 'an upstream of https://'],
    ],
    [
      [...UP, '--upstream-insecure'],
      ['--upstream-insecure: true', 'an upstream of https://'],
    ],
    [
      [...SECURE, '--upstream-ca', '/nowhere'],
      ['--upstream-ca', "can't use /nowhere"],
    ],
    [
      [...SECURE, '--upstream-ca', '/dev/null'],
      ['--upstream-ca', "can't use /dev/null"],
    ],
    [[...SECURE, '--upstream-cert', '/nowhere'], ['--upstream-cert: needs --upstream-key']],
    [[...SECURE, '--upstream-key', '/nowhere'], ['--upstream-key: needs --upstream-cert']],
    [
      [...UP, '--record', ''],
      ['--record: ""', 'the path of a folder'],
    ],
    [
      [...UP, '--replay', 'rec'],
      ['--replay', 'use serve to replay'],
    ],
    [[...UP, 'now'], ['"now"']],
  ] as const)('%j', async (args, says) => {
    const { code, out, err } = await runCommand(addProxyCommand, ['proxy', '--port', '0', ...args]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^.+$/);
    expect(err).not.toContain('secret');
    for (const text of says) expect(err).toContain(text);
  });

  it.each([
    [[], ["'--upstream <url>'"]],
    [
      [...UP, '--upstream-timeout-ms', '-1'],
      ['--upstream-timeout-ms: -1', 'a whole number from 0 to'],
    ],
    [
      [...UP, '--sequence', 'rst@evnt:3'],
      ['--sequence', '"evnt:3"', 'did you mean "event:N"?'],
    ],
    [
      [...UP, '--upstream-ky-env', 'X'],
      ["'--upstream-ky-env'", 'Did you mean --upstream-key-env?'],
    ],
  ] as const)('as a process: %j', async (args, says) => {
    const { code, stdout, stderr } = await run('proxy', '--port', '0', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^wirefault: .+\n$/);
    for (const text of says) expect(stderr).toContain(text);
  });
});

describe('--help', () => {
  it('has every option of the upstream, and no other in its group', async () => {
    const { code, stdout } = await run('proxy', '--help');
    expect(code).toBe(0);
    const [, group = ''] = /Options of the upstream:\n([\s\S]*?)\n\n/.exec(stdout) ?? [];
    const flags = [...group.matchAll(/^ {2}(--[\w-]+)/gm)].map(([, flag]) => flag);
    expect(flags).toEqual(UPSTREAM_OPTION_NAMES.map(flagOf));
  });
});
