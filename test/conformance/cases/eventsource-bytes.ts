import type { Connection, SseEvent, StreamCase, Told } from '../support/stream-case.js';

/** web-platform-tests, eventsource/: what the bytes of a stream mean. */

/** The frame of most streams of that suite: a whole body of known length, after which the client connects again. */
const FRAME: Omit<Connection, 'segments'> = {
  framing: 'content_length',
  end: 'whole',
  contentType: 'text/event-stream',
};

export const whole = (body: string, expected?: readonly Told[], more: Partial<Connection> = {}): Connection => ({
  ...FRAME,
  segments: [body],
  ...(expected ? { expected } : {}),
  ...more,
});

type Row = readonly [
  id: string,
  file: string,
  body: string,
  expected: readonly Told[],
  more?: Partial<Connection & StreamCase>,
];

const messages = (...data: readonly string[]): SseEvent[] => data.map((one) => ({ data: one }));

const BOM = '\xef\xbb\xbf';
const LONG = 'x'.repeat(2048);
const BLIND = 'a parser of the body sees no headers';

const ROWS: readonly Row[] = [
  [
    'bom_once_then_bom_mid_stream',
    'format-bom.any.js',
    `${BOM}data:1\n\n${BOM}data:2\n\ndata:3\n\n\n`,
    messages('1', '3'),
    { note: 'the second mark is a part of a field name, which nobody knows' },
  ],
  ['bom_twice_at_start', 'format-bom-2.any.js', `${BOM}${BOM}data:1\n\ndata:2\n\ndata:3\n\n\n`, messages('2', '3')],
  [
    'comments_of_all_kinds',
    'format-comments.any.js',
    `data:1\r:\0\n:\r\ndata:2\n:${LONG}\rdata:3\n:data:fail\r:${LONG}\ndata:4\n\n`,
    messages('1\n2\n3\n4'),
  ],
  [
    'data_field_forms',
    'format-field-data.any.js',
    'data:\n\ndata\ndata\n\ndata:test\n\n\n',
    messages('', '\n', 'test'),
  ],
  ['empty_event_field_means_message', 'format-field-event-empty.any.js', 'event: \ndata:data\n\n\n', messages('data')],
  [
    'event_type_lasts_one_event',
    'format-field-event.any.js',
    'event:test\ndata:x\n\ndata:x\n\n\n',
    [{ data: 'x', type: 'test' }, { data: 'x' }],
  ],
  [
    'id_persists_then_changes',
    'format-field-id-3.window.js',
    'id: 1\ndata: 1\n\ndata: 2\n\nid: 2\ndata:3\n\ndata:4\n\n',
    [
      { data: '1', id: '1' },
      { data: '2', id: '1' },
      { data: '3', id: '2' },
      { data: '4', id: '2' },
    ],
  ],
  ...(
    [
      ['id_reset_by_empty_id_with_colon', 'id:'],
      ['id_reset_by_id_without_colon', 'id'],
    ] as const
  ).map(
    ([id, line]): Row => [
      id,
      'format-field-id-3.window.js',
      `id: 1\ndata: 1\n\n${line}\ndata:2\n\ndata:3\n\n`,
      [{ data: '1', id: '1' }, { data: '2' }, { data: '3' }],
    ],
  ),
  [
    'field_name_exactness',
    'format-field-parsing.any.js',
    'data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n',
    messages('\0\n 2\n1\n3\n\n4'),
  ],
  [
    'retry_leading_zero_is_decimal',
    'format-field-retry.any.js',
    'retry:03000\ndata:x\n\n\n',
    [{ retry: 3000 }, { data: 'x' }],
  ],
  [
    'retry_bogus_after_good',
    'format-field-retry-bogus.any.js',
    'retry:3000\nretry:1000x\ndata:x\n\n\n',
    [{ retry: 3000 }, { data: 'x' }],
  ],
  [
    'retry_bogus_longer_after_good',
    'format-field-retry-bogus-2.any.js',
    'retry:1000\nretry:5000x\ndata:x\n\n\n',
    [{ retry: 1000 }, { data: 'x' }],
  ],
  ['retry_without_value_ignored', 'format-field-retry-empty.any.js', 'retry\ndata:test\n\n\n', messages('test')],
  [
    'unknown_fields_and_indented_line',
    'format-field-unknown.any.js',
    'data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n\n',
    messages('test\n\ntest'),
  ],
  [
    'tab_kept_space_stripped',
    'format-leading-space.any.js',
    'data:\ttest\rdata: \ndata:test\n\n\n',
    messages('\ttest\n\ntest'),
  ],
  [
    'mime_not_a_type',
    'format-mime-bogus.any.js',
    'data: data\n\n\n',
    [],
    { contentType: 'x bogus', parser: '"data"', note: BLIND },
  ],
  [
    'mime_trailing_semicolon',
    'format-mime-trailing-semicolon.any.js',
    'data: data\n\n\n',
    messages('data'),
    { contentType: 'text/event-stream;' },
  ],
  [
    'mime_other_valid_type',
    'format-mime-valid-bogus.any.js',
    'data: data\n\n\n',
    [],
    { contentType: 'text/x-bogus', parser: '"data"', note: BLIND },
  ],
  ['three_newline_kinds', 'format-newlines.any.js', 'data:test\r\ndata\ndata:test\r\n\r\n', messages('test\n\ntest')],
  ['nul_in_data', 'format-null-character.any.js', 'data:\0\n\n\n\n\n', messages('\0')],
  [
    'charset_parameter_ignored',
    'format-utf-8.any.js',
    'data:ok\xe2\x80\xa6\n\n\n',
    messages('ok\u2026'),
    { contentType: 'text/event-stream;charset=windows-1252' },
  ],
  ...(
    [
      ['plain_message', 'eventsource-onmessage.any.js', undefined],
      ['plain_message_trusted', 'eventsource-onmessage-trusted.any.js', 'that the event is trusted'],
      ['plain_message_realm', 'eventsource-onmessage-realm.htm', "the browser's realm of the event"],
      ['plain_message_by_listener', 'eventsource-eventtarget.any.js', undefined],
      ['open_event', 'eventsource-onopen.any.js', 'that opening is told by an event without data'],
    ] as const
  ).map(
    ([id, file, aboutClient]): Row => [
      id,
      file,
      'data: data\n\n\n',
      messages('data'),
      aboutClient === undefined ? {} : { aboutClient },
    ],
  ),
];

const RECONNECTS = 'when the client connects again, and with which Last-Event-ID';
const UNFINISHED = 'retry:1000\ndata:test1\n\nid:test\ndata:test2\n';
const ELLIPSIS = '\xe2\x80\xa6';

/** The server of these gives the ID back that it was sent. */
const hello = (id: string, expectedId = ''): Connection =>
  whole(`id: ${id}\nretry: 200\ndata: hello\n\n`, [
    { retry: 200 },
    { data: 'hello', ...(expectedId === '' ? {} : { id: expectedId }) },
  ]);
const givenBack = whole(`data: ${ELLIPSIS}\n\n`, [{ data: '\u2026', id: '\u2026' }]);

const NULS = [
  ['two_nuls', '\0\0'],
  ['x_then_nul', 'x\0'],
  ['nul_then_x', '\0x'],
  ['nul_between_x', 'x\0x'],
  ['space_then_nul', ' \0'],
] as const;

const RECONNECTING: readonly StreamCase[] = [
  {
    id: 'data_without_final_blank_line',
    source: 'eventsource/format-data-before-final-empty-line.any.js',
    connections: [1, 2].map(() => whole(UNFINISHED, [{ retry: 1000 }, { data: 'test1' }])),
    aboutClient: RECONNECTS,
  },
  {
    id: 'id_returned_as_header',
    source: 'eventsource/format-field-id.any.js',
    connections: [hello(ELLIPSIS, '\u2026'), givenBack],
    aboutClient: RECONNECTS,
  },
  {
    id: 'id_kept_over_two_reconnects',
    source: 'eventsource/format-field-id-2.any.js',
    connections: [hello(ELLIPSIS, '\u2026'), givenBack, givenBack],
    aboutClient: RECONNECTS,
  },
  ...NULS.map(
    ([name, id]): StreamCase => ({
      id: `id_with_nul_${name}`,
      family: 'id_with_nul',
      source: 'eventsource/format-field-id-null.window.js',
      connections: [hello(id), hello(id)],
      aboutClient: RECONNECTS,
    }),
  ),
];

const MIX = 'eventsource/event-data.any.js';
/** As the oldest text of the suite's server writes them. */
const MIXED_WRITES = [
  ...['data:msg', '\n', 'data: msg', '\n\n', ':', '\n', 'falsefield:msg', '\n\n'],
  ...['falsefield:msg', '\n', 'Data:data', '\n\n', 'data', '\n\n', 'data:end', '\n\n'],
];
const MIXED: Connection = {
  segments: [MIXED_WRITES.join('')],
  expected: messages('msg\nmsg', '', 'end'),
  contentType: 'text/event-stream',
  headers: [['Cache-Control', 'no-cache']],
  framing: 'until_close',
};

/** One block, and the same again every 2 s, for ever. */
export const REPEATED: StreamCase = {
  id: 'lines_and_fields_mix',
  source: MIX,
  connections: [
    {
      ...MIXED,
      also: {
        answer: { kind: 'events', events: [{ raw: MIXED_WRITES.join('') }] },
        head: {
          set: [
            ['Content-Type', 'text/event-stream'],
            ['Cache-Control', 'no-cache'],
          ],
        },
        pace: { pulse: { everyMs: 2000 } },
      },
    },
  ],
  family: 'lines_and_fields_mix',
};

export const EVENTSOURCE_BYTES: readonly StreamCase[] = [
  REPEATED,
  {
    id: 'lines_and_fields_mix_by_write',
    source: MIX,
    connections: [{ ...MIXED, segments: MIXED_WRITES }],
    family: 'lines_and_fields_mix',
  },
  ...ROWS.map(([id, file, body, expected, { contentType, ...more } = {}]) => ({
    id,
    source: `eventsource/${file}`,
    connections: [whole(body, expected, contentType === undefined ? {} : { contentType })],
    ...more,
  })),
  ...RECONNECTING,
];
