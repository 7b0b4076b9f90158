import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type AnswerContext, ERROR_KINDS, FIDELITIES, isObject, type JsonObject } from '../../../src/sse/dialect.js';
import { anthropicMessages } from '../../../src/sse/dialects/anthropic-messages.js';
import { stampsFrom } from '../../../src/sse/stamps.js';

const RECORDINGS = new URL('../../../../shared/dialects/recordings/', import.meta.url);

function context(parts: Partial<AnswerContext> = {}): AnswerContext {
  return {
    request: anthropicMessages.readRequest({}),
    fidelity: 'full',
    keyOrder: 'sorted',
    chunkSize: 4,
    stamps: stampsFrom('seed', new Date('2026-08-19T14:34:11Z')),
    requestId: anthropicMessages.requestId(stampsFrom('request', new Date(0))),
    ...parts,
  };
}

function parse(json: string): JsonObject {
  const value: unknown = JSON.parse(json);
  if (!isObject(value)) throw new Error(`no object: ${json}`);
  return value;
}

/** All keys, in their order and by depth. */
function deepKeys(value: unknown): unknown {
  return isObject(value) ? Object.entries(value).map(([key, inner]) => [key, deepKeys(inner)]) : null;
}

const errorType = (body: JsonObject | undefined): unknown => isObject(body?.error) && body.error.type;

describe('headers', () => {
  const names = (headers: readonly (readonly [string, string])[]): string[] => headers.map(([name]) => name);
  /** Those of the framing are not the dialect's. */
  const framing = ['Transfer-Encoding', 'Connection', 'content-length'];

  test('a stream has the recorded ones, in their order, with values of the same form', () => {
    const recorded: [string, string][] = JSON.parse(
      readFileSync(new URL('anthropic/text.headers.json', RECORDINGS), 'utf8'),
    ).headers;
    const theirs = recorded.filter(([name]) => !framing.includes(name));
    const ours = anthropicMessages.headers('text/event-stream; charset=utf-8', context());
    expect(names(ours)).toEqual(names(theirs));
    const form = (text: string): string => text.replace(/\d/g, '0');
    const ids = ['anthropic-organization-id', 'Anthropic-Workspace-Id', 'traceresponse', 'CF-RAY'];
    ours.forEach(([name, value], at) => {
      const other = theirs[at]?.[1] ?? '';
      // Its recorded value was made anonymous with another length than the real ids in recorded bodies have.
      if (name === 'request-id') expect(value).toMatch(/^req_011[1-9A-HJ-NP-Za-km-z]{21}$/);
      else if (ids.includes(name)) expect(value).toHaveLength(other.length);
      else expect(form(value).replace(/^\w+, 00 \w+/, '')).toBe(form(other).replace(/^\w+, 00 \w+/, ''));
    });
  });

  test('JSON has no Cache-Control, plain has two headers, and an id that is set is used', () => {
    expect(names(anthropicMessages.headers('application/json', context()))).not.toContain('Cache-Control');
    expect(anthropicMessages.headers('text/plain', context({ fidelity: 'plain', requestId: 'req_x' }))).toEqual([
      ['Content-Type', 'text/plain'],
      ['request-id', 'req_x'],
    ]);
  });

  const files = readdirSync(new URL('http-errors/', RECORDINGS)).filter((file) => file.startsWith('anthropic-'));
  const recordings = files.map((file) => {
    const [head = '', rest = ''] = readFileSync(new URL(`http-errors/${file}`, RECORDINGS), 'utf8')
      .replaceAll('\r\n', '\n')
      .split('\n\n');
    const [status = '', ...lines] = head.split('\n');
    const headers = lines.map((line): [string, string] => [line.split(': ')[0] ?? '', line.split(': ')[1] ?? '']);
    return {
      file,
      status: Number(status.split(' ')[1]),
      headers,
      body: parse(/\{.*\}/.exec(rest)?.[0] ?? ''),
    };
  });
  const errorOf = (kind: (typeof ERROR_KINDS)[number], parts?: Partial<AnswerContext>) =>
    anthropicMessages.error(kind, 'why', 1500, context(parts));

  test.each([
    ['anthropic-400-prompt-too-long.http', 'context_overflow'],
    ['anthropic-400-prompt-too-long.http', 'invalid_request'],
    ['anthropic-401-invalid-api-key.http', 'auth_error'],
    ['anthropic-429-rate-limit-bytes.http', 'rate_limit'],
    ['anthropic-429-rate-limit-requests.http', 'rate_limit'],
    ['anthropic-500-api-error.http', 'server_error'],
    ['anthropic-529-overloaded.http', 'overloaded'],
  ] as const)('%s is what %s looks like', (file, kind) => {
    const recorded = recordings.find((one) => one.file === file);
    const ours = errorOf(kind);
    const body = parse(ours.body);
    expect(ours.status).toBe(recorded?.status);
    // The older recordings have no request_id in the body.
    expect(deepKeys(body)).toEqual(deepKeys({ ...recorded?.body, request_id: '' }));
    expect(errorType(body)).toBe(errorType(recorded?.body));
    const theirs = Object.fromEntries(recorded?.headers ?? []);
    expect(Object.fromEntries(ours.headers)).toMatchObject({ 'x-should-retry': theirs['x-should-retry'] });
    expect(Object.fromEntries(ours.headers)['Content-Type']).toBe(theirs['Content-Type']);
    // Only these two came from a recorder that keeps the order, and are new enough to have today's headers.
    if (['anthropic-400-prompt-too-long.http', 'anthropic-401-invalid-api-key.http'].includes(file)) {
      expect(names(ours.headers)).toEqual(names(recorded?.headers ?? []).filter((name) => !framing.includes(name)));
    }
  });

  test('every error: no header that no recording has, and one request id in header and body', () => {
    const known = new Set(recordings.flatMap(({ headers }) => names(headers)));
    for (const kind of ERROR_KINDS) {
      for (const fidelity of FIDELITIES) {
        const error = errorOf(kind, { fidelity });
        const headers = Object.fromEntries(error.headers);
        expect(names(error.headers).filter((name) => !known.has(name) && name !== 'retry-after-ms')).toEqual([]);
        expect(parse(error.body)).toMatchObject({ error: { message: 'why' }, request_id: headers['request-id'] });
        expect(headers['retry-after']).toBe(kind === 'rate_limit' ? '2' : undefined);
        expect(headers['x-should-retry']).toBe(String(error.status === 429 || error.status >= 500));
      }
    }
    expect(parse(errorOf('auth_error', { requestId: 'req_x' }).body).request_id).toBe('req_x');
    expect(errorOf('quota_exceeded').status).toBe(400);
    expect(errorOf('service_unavailable').status).toBe(503);
  });
});
