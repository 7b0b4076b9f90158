import { describe, expect, it } from 'vitest';
import { CONTROL_PATHS, type Command, commandOf, isControlPath } from '../../src/control/commands.js';
import type { Request } from '../../src/http/request.js';

function request(line: string, body: unknown = ''): Request {
  const [method = '', target = ''] = line.split(' ');
  const [path = ''] = target.split('?');
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return {
    method,
    target,
    path,
    httpVersion: '1.1',
    headers: {},
    keepAlive: true,
    expectsContinue: false,
    body: bytes,
  };
}

function understood(line: string, body?: unknown): Command {
  const command = commandOf(request(line, body));
  if (!('kind' in command)) throw new Error(`refused: ${command.body}`);
  return command;
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly known?: readonly string[];
  readonly allow: string | undefined;
}

function refused(line: string, body?: unknown): Refusal {
  const reply = commandOf(request(line, body));
  if ('kind' in reply) throw new Error(`understood: ${JSON.stringify(reply)}`);
  const { error } = JSON.parse(reply.body);
  return { ...error, status: reply.status, allow: reply.headers.find(([name]) => name === 'Allow')?.[1] };
}

describe('what is understood', () => {
  const filter = { lane: 'a b', behavior: 'F1+', outcome: 'reset', rule: 'mine', since: 7 };
  const query = 'lane=a%20b&behavior=F1%2B&outcome=reset&rule=mine&since=7';
  const cases: readonly (readonly [string, unknown, Command])[] = [
    ['GET /__control', '', { kind: 'list' }],
    ['GET /__control?pretty=1', '', { kind: 'list' }],
    ['POST /__control', { fault: 'F2', once: true }, { kind: 'inject', rule: { fault: 'F2', once: true } }],
    ['DELETE /__control', '', { kind: 'clear' }],
    ['DELETE /__control/17', '', { kind: 'remove', id: 17 }],
    ['POST /__reset', '', { kind: 'reset' }],
    ['GET /__gate', '', { kind: 'gates' }],
    ['POST /__gate/go', '', { kind: 'release', gate: 'go', count: 1 }],
    ['POST /__gate/a%20b%2Fc', { count: 3 }, { kind: 'release', gate: 'a b/c', count: 3 }],
    ['POST /__gate/go', { count: 'all' }, { kind: 'release', gate: 'go', count: Number.POSITIVE_INFINITY }],
    ['POST /__refuse', { ms: 500 }, { kind: 'refuse', ms: 500 }],
    ['GET /__journal', '', { kind: 'journal', filter: {}, follow: false }],
    [`GET /__journal?${query}&follow=1`, '', { kind: 'journal', filter, follow: true }],
    ['GET /__journal?follow=0', '', { kind: 'journal', filter: {}, follow: false }],
    ['GET /__journal/12/request', '', { kind: 'bytes', exchange: 12, of: 'request' }],
    ['GET /__journal/12/response', '', { kind: 'bytes', exchange: 12, of: 'response' }],
    ['GET /__metrics', '', { kind: 'metrics' }],
    ['GET /__health', '', { kind: 'health' }],
  ];
  for (const [line, body, command] of cases) {
    it(`${line} ${body === '' ? '' : JSON.stringify(body)}`, () => expect(understood(line, body)).toEqual(command));
  }

  it('is all that is told', () => {
    expect(CONTROL_PATHS).toHaveLength(13);
    for (const { 0: line } of cases) expect(isControlPath(line.split(' ')[1] ?? '')).toBe(true);
    expect(isControlPath('/v1/models')).toBe(false);
    expect(isControlPath('/fault/F2/__control')).toBe(false);
  });

  it('of a rule: everything that a rule can have', () => {
    const rule = {
      fault: { cut: { at: 'event:3', teardown: 'rst' } },
      times: 7,
      match: ['word', '/re/i', { json: { 'tools.length': '>0', stream: true } }],
      avoid: 'title',
      protocol: 'anthropic-messages',
      path: '/v1/messages',
      header: { 'User-Agent': 'claude' },
      model: '/haiku/',
      lane: 'a',
      probability: 0.5,
      ttlMs: 1000,
      label: 'mine',
    };
    expect(understood('POST /__control', rule)).toEqual({ kind: 'inject', rule });
  });
});

describe('what is refused', () => {
  it('an unknown path, with the nearest and all that there are', () => {
    expect(refused('GET /__contrl')).toMatchObject({
      status: 404,
      code: 'unknown_path',
      message: 'no such control path: /__contrl, did you mean "/__control"?',
      known: CONTROL_PATHS,
    });
    for (const line of [
      'GET /__',
      'GET /__control/',
      'DELETE /__control/1.5',
      'DELETE /__control/-1',
      'DELETE /__control/one',
      'POST /__gate/',
      'POST /__gate/a/b',
      'GET /__journal/0x1/request',
      'GET /__journal/1/body',
      'GET /__journal/1/request/',
      'GET /__CONTROL',
    ])
      expect(refused(line).status, line).toBe(404);
  });

  it('a method that the path does not have, with those that it has', () => {
    const cases = [
      ['PUT /__control', 'GET, POST, DELETE'],
      ['GET /__control/1', 'DELETE'],
      ['GET /__reset', 'POST'],
      ['DELETE /__journal', 'GET'],
      ['POST /__metrics', 'GET'],
      ['HEAD /__journal/1/request', 'GET'],
      ['OPTIONS /__control', 'GET, POST, DELETE'],
      ['get /__control', 'GET, POST, DELETE'],
    ] as const;
    for (const [line, allow] of cases) {
      expect(refused(line), line).toMatchObject({ status: 405, code: 'method_not_allowed', allow });
    }
  });

  it('a body that is too large, before it is looked at', () => {
    const label = (bytes: number) => ({ fault: 'F2', label: 'x'.repeat(bytes - '{"fault":"F2","label":""}'.length) });
    expect(understood('POST /__control', label(65_536)).kind).toBe('inject');
    expect(refused('POST /__control', label(65_537))).toMatchObject({
      status: 413,
      code: 'too_large',
      message: 'a control request has at most 65536 bytes, and this one 65537',
    });
    expect(refused('POST /__reset', '{'.repeat(70_000)).status).toBe(413);
  });

  it('a body that is no JSON', () => {
    for (const body of ['fault=F2', '{"fault":"F2"', "{'fault':'F2'}", '{"fault":"F2"} {}', '\0', 'undefined'])
      expect(refused('POST /__control', body), body).toMatchObject({
        status: 400,
        code: 'bad_control',
        message: expect.stringMatching(/^the body is not JSON: /),
      });
  });

  const rules: readonly (readonly [unknown, RegExp])[] = [
    ['', /fault/],
    [[], /expected object/],
    ['null', /expected object/],
    ['"F2"', /expected object/],
    [{ fault: 'F2', onec: true }, /onec: unknown key "onec", did you mean "once"\?/],
    [{ fault: 'F2', times: 0 }, /times: /],
    [{ fault: { cutt: {} } }, /fault\.cutt: unknown key "cutt", did you mean "cut"\?/],
    [{ fault: 'F2', protocol: 'openai_chat' }, /protocol: unknown word "openai_chat", did you mean "openai-chat"\?/],
    [{ fault: 'F2', probability: 2, ttlMs: 'soon' }, /probability: .*; ttlMs: /],
    ['{"fault":{"__proto__":{"cut":1}}}', /unknown key "__proto__"/],
  ];
  for (const [body, message] of rules) {
    it(`a rule such as ${JSON.stringify(body)}`, () => {
      expect(refused('POST /__control', body)).toMatchObject({ status: 400, message: expect.stringMatching(message) });
    });
  }

  it('a gate that is released for a strange count, or whose name has bad escapes', () => {
    for (const count of [0, -1, 1.5, '3', 'ALL', null])
      expect(refused('POST /__gate/go', { count }).status, String(count)).toBe(400);
    expect(refused('POST /__gate/go', { cuont: 1 }).message).toContain('did you mean "count"?');
    expect(refused('POST /__gate/%E0%A4%A').status).toBe(400);
  });

  it('a refusal for a time that no timer has', () => {
    for (const ms of [0, -1, 0.5, '500', 2_147_483_648, null])
      expect(refused('POST /__refuse', { ms }).status, String(ms)).toBe(400);
    expect(refused('POST /__refuse').message).toContain('ms: ');
  });

  it('a journal that is filtered by what is no filter', () => {
    expect(refused('GET /__journal?lanes=a')).toMatchObject({
      status: 400,
      message: 'unknown filter "lanes" (known: lane, behavior, outcome, rule, since, follow)',
    });
    for (const since of ['', '-1', '1.5', 'x', '9'.repeat(16)])
      expect(refused(`GET /__journal?since=${since}`).message, since).toContain('is no number of an exchange');
  });
});
