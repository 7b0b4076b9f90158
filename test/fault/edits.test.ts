import { describe, expect, it } from 'vitest';
import { editedBody, editedEvents } from '../../src/fault/edits.js';
import type { EventEdit } from '../../src/fault/spec.js';
import { DEFAULTS } from '../../src/options.js';
import type { DialectEvent, OddEvent, Role, Telling } from '../../src/sse/dialect.js';
import { encodeWhole } from '../../src/sse/encoder.js';
import { joinMarked } from '../../src/sse/mark.js';
import { readAnswer } from '../support/http.js';
import { planner } from '../support/plans.js';

const event = (name: string, role: Role): DialectEvent => ({ name, role, data: (sequence) => `${name} ${sequence}` });

const ODD: Readonly<Record<OddEvent, readonly DialectEvent[]>> = {
  malformed_json: [event('broken', 'malformed')],
  malformed_event: [event('odd', 'malformed')],
  stream_error: [event('error', 'error'), event('end', 'terminal')],
  keepalive: [event('ping', 'keepalive')],
  foreign_terminal: [event('other', 'terminal')],
};
const EVENTS = [
  event('open', 'open'),
  event('start', 'start'),
  event('a', 'delta'),
  event('done', 'done'),
  event('start2', 'start'),
  event('b', 'delta'),
  event('finish', 'finish'),
  event('usage', 'usage'),
  event('end', 'terminal'),
];
const TELLING: Telling = { events: EVENTS, odd: (kind) => ODD[kind] };
const CONTENT = { ...DEFAULTS, keepaliveCount: 3 };

const edited = (edits: readonly EventEdit[], events: readonly DialectEvent[] = EVENTS): string =>
  editedEvents({ ...TELLING, events }, edits, CONTENT)
    .map(({ name }) => name)
    .join(' ');

const ALL = 'open start a done start2 b finish usage end';

describe('events', () => {
  it.each<[string, readonly EventEdit[], string]>([
    ['nothing', [], ALL],
    ['keep', [{ op: 'keep', roles: ['open', 'terminal'] }], 'open end'],
    ['keep of none', [{ op: 'keep', roles: ['error'] }], ''],
    ['drop', [{ op: 'drop', roles: ['terminal', 'start'] }], 'open a done b finish usage'],
    ['end_after_deltas', [{ op: 'end_after_deltas' }], 'open start a done start2 b'],
    ['repeat_first', [{ op: 'repeat_first' }], `open ${ALL}`],
    ['append', [{ op: 'append', event: 'stream_error' }], `${ALL} error end`],
    [
      'insert before the first of a role',
      [{ op: 'insert', event: 'keepalive', before: 'start' }],
      'open ping start a done start2 b finish usage end',
    ],
    [
      'insert several times',
      [{ op: 'insert', event: 'keepalive', before: 'terminal', times: 'keepaliveCount' }],
      'open start a done start2 b finish usage ping ping ping end',
    ],
    ['insert before a role that is not there', [{ op: 'insert', event: 'keepalive', before: 'error' }], `${ALL} ping`],
    [
      'edits in their order',
      [{ op: 'end_after_deltas' }, { op: 'append', event: 'stream_error' }, { op: 'drop', roles: ['delta'] }],
      'open start done start2 error end',
    ],
    [
      'edits of what an edit made',
      [
        { op: 'append', event: 'keepalive' },
        { op: 'insert', event: 'malformed_json', before: 'keepalive' },
      ],
      `${ALL} broken ping`,
    ],
  ])('%s', (_, edits, names) => {
    expect(edited(edits)).toBe(names);
  });

  it('repeat_first of nothing is nothing', () => {
    expect(edited([{ op: 'repeat_first' }], [])).toBe('');
  });

  it('are numbered after the edits, and left as they were', () => {
    const before = [...EVENTS];
    const list = editedEvents(TELLING, [{ op: 'repeat_first' }], CONTENT);
    expect(list.slice(0, 3).map((item, n) => item.data(n))).toEqual(['open 0', 'open 1', 'start 2']);
    expect(EVENTS).toEqual(before);
  });

  it('end_after_deltas of an answer without deltas ends where they would have come', () => {
    const silent = EVENTS.filter(({ role }) => role !== 'delta').filter(
      ({ name }) => !['done', 'start2'].includes(name),
    );
    expect(edited([{ op: 'end_after_deltas' }], silent)).toBe('open start');
  });

  it('stream_error with an empty partialText fails a response that was created', () => {
    const plan = planner({ partialText: '' })('stream_error', 'openai-responses');
    const body = readAnswer(plan.bytes)?.body.toString() ?? '';
    expect([...body.matchAll(/^event: (.*)$/gm)].map(([, name]) => name)).toEqual([
      'response.created',
      'response.in_progress',
      expect.any(String),
      expect.any(String),
      'error',
      'response.failed',
    ]);
  });
});

describe('a JSON body', () => {
  const whole = encodeWhole({
    json: '{"content":"words","z":1}',
    content: [{ kind: 'text', key: 'content', value: 'words' }],
  });
  const body = (edits: readonly EventEdit[]) =>
    editedBody(
      whole,
      () => TELLING,
      () => '{"error":1}',
      edits,
      CONTENT,
    );
  const text = (edits: readonly EventEdit[]): string => joinMarked(body(edits)).bytes.toString();
  const roles = (edits: readonly EventEdit[]) =>
    joinMarked(body(edits))
      .marks.filter(({ kind }) => kind === 'part')
      .map(({ role }) => role);

  it.each<[string, readonly EventEdit[], string]>([
    ['nothing', [], '{"content":"words","z":1}'],
    ['keep', [{ op: 'keep', roles: ['start', 'terminal'] }], '{"content":"}'],
    ['drop', [{ op: 'drop', roles: ['terminal'] }], '{"content":"words","z":1'],
    ['end_after_deltas', [{ op: 'end_after_deltas' }], '{"content":"words'],
    ['repeat_first', [{ op: 'repeat_first' }], '{"content":"{"content":"words","z":1}'],
    [
      'a keep-alive is a line end',
      [{ op: 'insert', event: 'keepalive', before: 'start', times: 'keepaliveCount' }],
      '\n\n\n{"content":"words","z":1}',
    ],
    [
      'a malformed answer',
      [
        { op: 'keep', roles: ['open'] },
        { op: 'append', event: 'malformed_json' },
      ],
      'broken 0',
    ],
    ['a failed answer', [{ op: 'end_after_deltas' }, { op: 'append', event: 'stream_error' }], '{"error":1}'],
    [
      "another protocol's last word",
      [
        { op: 'drop', roles: ['terminal'] },
        { op: 'append', event: 'foreign_terminal' },
      ],
      '{"content":"words","z":1other 0',
    ],
  ])('%s', (_, edits, json) => {
    expect(text(edits)).toBe(json);
  });

  it('is covered by its parts, and the marks inside move with them', () => {
    expect(roles([])).toEqual(['start', 'delta', 'finish', 'terminal']);
    const edits: EventEdit[] = [{ op: 'insert', event: 'keepalive', before: 'start', times: 'keepaliveCount' }];
    expect(roles(edits)).toEqual(['keepalive', 'keepalive', 'keepalive', 'start', 'delta', 'finish', 'terminal']);
    const { bytes, marks } = joinMarked(body(edits));
    expect(
      marks.filter(({ kind }) => kind === 'text').map(({ start, end }) => bytes.toString('utf8', start, end)),
    ).toEqual(['words']);
    expect(roles([{ op: 'append', event: 'stream_error' }])).toEqual(['error']);
    expect(roles([{ op: 'append', event: 'malformed_event' }])).toEqual(['malformed']);
  });
});
