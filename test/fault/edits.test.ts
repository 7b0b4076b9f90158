import { describe, expect, it } from 'vitest';
import { appliesToBody, editedBody, editedEvents, eventOf } from '../../src/fault/edits.js';
import type { EventEdit, RawEvent, Where } from '../../src/fault/spec-events.js';
import { DEFAULTS } from '../../src/options.js';
import type { DialectEvent, OddEvent, Role, StreamEvent, Telling } from '../../src/sse/dialect.js';
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
    ['keep', [{ op: 'keep', where: { role: ['open', 'terminal'] } }], 'open end'],
    ['keep of none', [{ op: 'keep', where: { role: ['error'] } }], ''],
    ['omit', [{ op: 'omit', where: { role: ['terminal', 'start'] } }], 'open a done b finish usage'],
    ['end_after_deltas', [{ op: 'end_after_deltas' }], 'open start a done start2 b'],
    ['duplicate of the first', [{ op: 'duplicate', where: { nth: 1 } }], `open ${ALL}`],
    ['insert at the end', [{ op: 'insert', event: 'stream_error' }], `${ALL} error end`],
    [
      'insert before the first of a role',
      [{ op: 'insert', event: 'keepalive', before: { role: 'start' } }],
      'open ping start a done start2 b finish usage end',
    ],
    [
      'insert several times',
      [{ op: 'insert', event: 'keepalive', before: { role: 'terminal' }, times: 'keepaliveCount' }],
      'open start a done start2 b finish usage ping ping ping end',
    ],
    [
      'insert before a role that is not there',
      [{ op: 'insert', event: 'keepalive', before: { role: 'error' } }],
      `${ALL} ping`,
    ],
    ['keep of one role', [{ op: 'keep', where: { role: 'delta' } }], 'a b'],
    ['keep of all', [{ op: 'keep', where: {} }], ALL],
    ['omit of all', [{ op: 'omit', where: {} }], ''],
    ['omit by name', [{ op: 'omit', where: { name: 'start2' } }], 'open start a done b finish usage end'],
    [
      'omit by role and name',
      [{ op: 'omit', where: { role: 'delta', name: 'b' } }],
      'open start a done start2 finish usage end',
    ],
    ['omit of a name in another role', [{ op: 'omit', where: { role: 'start', name: 'b' } }], ALL],
    [
      'omit of the second of a role',
      [{ op: 'omit', where: { role: 'delta', nth: 2 } }],
      'open start a done start2 finish usage end',
    ],
    [
      'omit of the last but one of a role',
      [{ op: 'omit', where: { role: 'delta', nth: -2 } }],
      'open start done start2 b finish usage end',
    ],
    ['omit of the last', [{ op: 'omit', where: { nth: -1 } }], 'open start a done start2 b finish usage'],
    ['omit of one that is not there', [{ op: 'omit', where: { role: 'delta', nth: 3 } }], ALL],
    [
      'duplicate several times, each at its place',
      [{ op: 'duplicate', where: { role: 'delta' }, times: 2 }],
      'open start a a a done start2 b b b finish usage end',
    ],
    [
      'move before the first of others',
      [{ op: 'move', where: { role: ['usage', 'finish'] }, before: { role: 'delta' } }],
      'open start finish usage a done start2 b end',
    ],
    [
      'move behind the last of others',
      [{ op: 'move', where: { name: 'open' }, after: { role: 'delta' } }],
      'start a done start2 b open finish usage end',
    ],
    ['move to the end', [{ op: 'move', where: { name: 'open' } }], 'start a done start2 b finish usage end open'],
    ['move of what is not there', [{ op: 'move', where: { role: 'error' }, before: { nth: 1 } }], ALL],
    [
      'move before what is not there',
      [{ op: 'move', where: { name: 'open' }, before: { role: 'error' } }],
      'start a done start2 b finish usage end open',
    ],
    [
      'replace, by one and by several',
      [
        { op: 'replace', where: { role: 'delta', nth: 1 }, event: 'keepalive' },
        { op: 'replace', where: { role: 'terminal' }, event: 'stream_error' },
      ],
      'open start ping done start2 b finish usage error end',
    ],
    [
      'insert behind the last of others',
      [{ op: 'insert', event: 'keepalive', after: { role: 'start' } }],
      'open start a done start2 ping b finish usage end',
    ],
    [
      'insert of an event of its own words',
      [{ op: 'insert', event: { data: 'x', name: 'own' }, before: { role: 'delta' }, times: 2 }],
      'open start own own a done start2 b finish usage end',
    ],
    ['insert none', [{ op: 'insert', event: 'keepalive', times: 0 }], ALL],
    [
      'edits in their order',
      [{ op: 'end_after_deltas' }, { op: 'insert', event: 'stream_error' }, { op: 'omit', where: { role: ['delta'] } }],
      'open start done start2 error end',
    ],
    [
      'edits of what an edit made',
      [
        { op: 'insert', event: 'keepalive' },
        { op: 'insert', event: 'malformed_json', before: { role: 'keepalive' } },
      ],
      `${ALL} broken ping`,
    ],
  ])('%s', (_, edits, names) => {
    expect(edited(edits)).toBe(names);
  });

  it('duplicate of nothing is nothing', () => {
    expect(edited([{ op: 'duplicate', where: { nth: 1 } }], [])).toBe('');
  });

  it('are numbered after the edits, and left as they were', () => {
    const before = [...EVENTS];
    const list = editedEvents(TELLING, [{ op: 'duplicate', where: { nth: 1 } }], CONTENT);
    expect(list.slice(0, 3).map((item, n) => item.data?.(n))).toEqual(['open 0', 'open 1', 'start 2']);
    expect(EVENTS).toEqual(before);
  });

  it('end_after_deltas of an answer without deltas ends where they would have come', () => {
    const silent = EVENTS.filter(({ role }) => role !== 'delta').filter(
      ({ name }) => !['done', 'start2'].includes(name),
    );
    expect(edited([{ op: 'end_after_deltas' }], silent)).toBe('open start');
  });

  it('patch changes the JSON of the data, numbers of the sequence included, and nothing else', () => {
    const json: DialectEvent = {
      name: 'json',
      role: 'delta',
      event: 'x',
      data: (sequence) => JSON.stringify({ sequence, list: [{ text: 'a' }], z: 1 }),
    };
    const events = [event('plain', 'open'), json, { name: 'comment', role: 'keepalive', comment: 'c' } as const];
    const made = (edit: Omit<EventEdit & { op: 'patch' }, 'op' | 'where'>, where: Where = {}) =>
      editedEvents({ events: events as DialectEvent[], odd: () => [] }, [{ op: 'patch', where, ...edit }], CONTENT);
    const list = made({ path: 'list[0].text', value: 'ż' });
    expect(list.map((item, n) => item.data?.(n))).toEqual([
      'plain 0',
      '{"sequence":1,"list":[{"text":"ż"}],"z":1}',
      undefined,
    ]);
    expect(list.map(({ data: _, ...rest }) => rest)).toEqual(events.map(({ data: _, ...rest }: StreamEvent) => rest));
    expect(made({ path: 'list' })[1]?.data?.(4)).toBe('{"sequence":4,"z":1}');
    expect(made({ path: 'z', value: 2 }, { role: 'open' })[1]?.data?.(0)).toBe(json.data(0));
  });

  it.each<[RawEvent, StreamEvent & { says?: string }]>([
    [{ data: 'x\ny' }, { name: 'extra', role: 'extra', says: 'x\ny' }],
    [
      { event: 'ping', data: { a: [1] } },
      { name: 'ping', role: 'extra', event: 'ping', says: '{"a":[1]}' },
    ],
    [
      { event: 'ping', name: 'mine', role: 'delta' },
      { name: 'mine', role: 'delta', event: 'ping' },
    ],
    [
      { comment: 'c', id: '7', retry: '9' },
      { name: 'extra', role: 'extra', comment: 'c', id: '7', retry: '9' },
    ],
    [{ commentBytes: 4 }, { name: 'extra', role: 'extra', comment: 'xxxx' }],
    [
      { raw: 'data\n\n', data: [] },
      { name: 'extra', role: 'extra', raw: 'data\n\n', says: '[]' },
    ],
  ])('%j is an event of its own words', (raw, { says, ...wanted }) => {
    const { data, ...rest } = eventOf(raw);
    expect(rest).toEqual(wanted);
    expect(data?.(3)).toBe(says);
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
    ['keep', [{ op: 'keep', where: { role: ['start', 'terminal'] } }], '{"content":"}'],
    ['omit', [{ op: 'omit', where: { role: ['terminal'] } }], '{"content":"words","z":1'],
    ['end_after_deltas', [{ op: 'end_after_deltas' }], '{"content":"words'],
    ['duplicate of the first', [{ op: 'duplicate', where: { nth: 1 } }], '{"content":"{"content":"words","z":1}'],
    [
      'a keep-alive is a line end',
      [{ op: 'insert', event: 'keepalive', before: { role: 'start' }, times: 'keepaliveCount' }],
      '\n\n\n{"content":"words","z":1}',
    ],
    [
      'a malformed answer',
      [
        { op: 'keep', where: { role: ['open'] } },
        { op: 'insert', event: 'malformed_json' },
      ],
      'broken 0',
    ],
    ['a failed answer', [{ op: 'end_after_deltas' }, { op: 'insert', event: 'stream_error' }], '{"error":1}'],
    [
      "another protocol's last word",
      [
        { op: 'omit', where: { role: ['terminal'] } },
        { op: 'insert', event: 'foreign_terminal' },
      ],
      '{"content":"words","z":1other 0',
    ],
    ['omit of all', [{ op: 'omit', where: {} }], ''],
    ['move', [{ op: 'move', where: { role: 'terminal' }, before: { role: 'delta' } }], '{"content":"}words","z":1'],
    [
      'a keep-alive instead of a part',
      [{ op: 'replace', where: { nth: -1 }, event: 'keepalive' }],
      '{"content":"words","z":1\n',
    ],
    [
      'what only events have is left out',
      [
        { op: 'insert', event: { data: 'own' }, before: { role: 'delta' } },
        { op: 'patch', where: {}, path: 'content', value: 'x' },
        { op: 'omit', where: { name: 'content' } },
        { op: 'replace', where: { role: 'start' }, event: { comment: 'c' } },
        { op: 'omit', where: { role: 'terminal' } },
      ],
      '{"content":"words","z":1',
    ],
  ])('%s', (_, edits, json) => {
    expect(text(edits)).toBe(json);
  });

  it('is covered by its parts, and the marks inside move with them', () => {
    expect(roles([])).toEqual(['start', 'delta', 'finish', 'terminal']);
    const edits: EventEdit[] = [
      { op: 'insert', event: 'keepalive', before: { role: 'start' }, times: 'keepaliveCount' },
    ];
    expect(roles(edits)).toEqual(['keepalive', 'keepalive', 'keepalive', 'start', 'delta', 'finish', 'terminal']);
    const { bytes, marks } = joinMarked(body(edits));
    expect(
      marks.filter(({ kind }) => kind === 'text').map(({ start, end }) => bytes.toString('utf8', start, end)),
    ).toEqual(['words']);
    expect(roles([{ op: 'insert', event: 'stream_error' }])).toEqual(['error']);
    expect(roles([{ op: 'insert', event: 'malformed_event' }])).toEqual(['malformed']);
  });

  it.each<[EventEdit, boolean]>([
    [{ op: 'keep', where: { role: 'delta' } }, true],
    [{ op: 'duplicate', where: { nth: 1 } }, true],
    [{ op: 'omit', where: { name: 'ping' } }, false],
    [{ op: 'move', where: { name: 'ping', role: 'keepalive' } }, false],
    [{ op: 'insert', event: 'keepalive' }, true],
    [{ op: 'insert', event: { data: 'x' } }, false],
    [{ op: 'replace', where: {}, event: { data: 'x' } }, false],
    [{ op: 'patch', where: {}, path: 'a' }, false],
    [{ op: 'end_after_deltas' }, true],
  ])('%j has a meaning in it: %s', (edit, applies) => {
    expect(appliesToBody(edit)).toBe(applies);
  });
});
