import { type Connection, inPieces, type SseEvent, type StreamCase, type Told } from '../support/stream-case.js';

/** LaunchDarkly's SSE contract tests: fields, byte order marks, comments. */

/** The frame of every stream of that suite. */
export const LAUNCHDARKLY: Pick<Connection, 'headers'> = {
  headers: [['Cache-Control', 'no-cache, no-store, must-revalidate']],
};

type Row = readonly [
  id: string,
  segments: readonly string[],
  expected: readonly Told[],
  more?: Partial<StreamCase & Pick<Connection, 'gapMs'>>,
];

function rows(file: string, all: readonly Row[]): StreamCase[] {
  return all.map(([id, segments, expected, { gapMs, ...more } = {}]) => ({
    id,
    source: `ssetests/${file}`,
    connections: [{ ...LAUNCHDARKLY, segments, expected, ...(gapMs === undefined ? {} : { gapMs }) }],
    ...more,
  }));
}

const messages = (...data: readonly string[]): SseEvent[] => data.map((one) => ({ data: one }));

const BOM = '\xef\xbb\xbf';

/** U+20AC U+8C46 U+8150. */
const THREE_CHARACTERS = '\xe2\x82\xac\xe8\xb1\x86\xe8\x85\x90';
const THREE = '\u20ac\u8c46\u8150';

/** 5 MiB in base64; the suite draws them, here they are the same in each run. */
function base64(filling: string): string {
  return Buffer.alloc(5 * 1024 * 1024, filling).toString('base64');
}
const [FIRST_HUGE, SECOND_HUGE] = [base64('some 5 MiB, '), base64('and 5 MiB more. ')];

const HUNDRED = Array.from({ length: 100 }, (_, n) => `message ${n}`);

const PARSING: readonly Row[] = [
  ['one_line_one_segment', ['data: Hello\n\n'], messages('Hello')],
  ['two_events_share_middle_segment', ['data: test', 'test\n\ndata:', 'test\n\n'], messages('testtest', 'test')],
  ['huge_event_one_segment', [`data: ${FIRST_HUGE}\n\n`], messages(FIRST_HUGE)],
  ['huge_event_two_segments', [`data: ${FIRST_HUGE}`, `${SECOND_HUGE}\n\n`], messages(FIRST_HUGE + SECOND_HUGE)],
  ['one_line_two_segments', ['data: Hel', 'lo\n\n'], messages('Hello')],
  ['two_events_one_segment', ['data: Hello\n\ndata: World\n\n'], messages('Hello', 'World')],
  ['two_data_lines_one_event', ['data: Hello\ndata:World\n\n'], messages('Hello\nWorld')],
  ['empty_data_field_dispatches', ['data:\n\n'], messages('')],
  ['named_type', ['event: greeting\ndata: Hello\n\n'], [{ data: 'Hello', type: 'greeting' }]],
  ['default_type_is_message', ['data: Hello\n\n'], messages('Hello')],
  ['id_set', ['id: abc\ndata: Hello\n\n'], [{ data: 'Hello', id: 'abc' }]],
  ['type_and_id_set', ['event: greeting\nid: abc\ndata: Hello\n\n'], [{ data: 'Hello', type: 'greeting', id: 'abc' }]],
  ['id_with_nul_is_ignored', ['id: a\0bc\ndata: Hello\n\n'], messages('Hello')],
  [
    'id_persists_to_next_event',
    ['id: abc\ndata: first\n\n', 'data: second\n\n'],
    [
      { data: 'first', id: 'abc' },
      { data: 'second', id: 'abc' },
    ],
  ],
  [
    'id_reset_by_empty_value',
    ['id: abc\ndata: first\n\n', 'id: \ndata: second\n\n'],
    [{ data: 'first', id: 'abc' }, { data: 'second' }],
  ],
  [
    'fields_in_reverse_order',
    ['data: Hello\nid: abc\nevent: greeting\n\n'],
    [{ data: 'Hello', type: 'greeting', id: 'abc' }],
  ],
  ['unknown_field_skipped', ['event: greeting\ncolor: blue\ndata: Hello\n\n'], [{ data: 'Hello', type: 'greeting' }]],
  ['no_space_after_colon', ['event:greeting\ndata:Hello\n\n'], [{ data: 'Hello', type: 'greeting' }]],
  ['only_one_space_stripped', ['event:  greeting\ndata:  Hello\n\n'], [{ data: ' Hello', type: ' greeting' }]],
  ['data_lines_without_colon', ['data\n\ndata\ndata\n\n'], messages('', '\n')],
  ['multibyte_one_segment', [`data: ${THREE_CHARACTERS}\n\n`], messages(THREE)],
  ['hundred_events_in_order', [HUNDRED.map((data) => `data: ${data}\n\n`).join('')], messages(...HUNDRED)],
  ['multibyte_bytewise', inPieces(`data: ${THREE_CHARACTERS}\n\n`, 1), messages(THREE), { gapMs: 20 }],
];

const MARKS: readonly Row[] = [
  ['bom_at_start', [`${BOM}data: Hello\n\n`], messages('Hello')],
  [
    'bom_before_type_and_id',
    [`${BOM}event: greeting\nid: abc\ndata: Hello\n\n`],
    [{ data: 'Hello', type: 'greeting', id: 'abc' }],
  ],
  ['bom_then_two_events', [`${BOM}data: First\n\ndata: Second\n\n`], messages('First', 'Second')],
  ['bom_inside_later_value_kept', ['data: First\n\n', `data: ${BOM}Second\n\n`], messages('First', '\ufeffSecond')],
  ['bom_split_two_plus_one', ['\xef\xbb', '\xbfdata: Hello\n\n'], messages('Hello')],
  ['bom_split_bytewise', ['\xef', '\xbb', '\xbf', 'data: Hello\n\n'], messages('Hello')],
  ['second_bom_in_value_kept', [`${BOM}data: ${BOM}Hello\n\n`], messages('\ufeffHello')],
  ['no_bom_control', ['data: Hello\n\n'], messages('Hello')],
  ['bom_then_two_data_lines', [`${BOM}data: Line1\ndata: Line2\n\n`], messages('Line1\nLine2')],
  ['bom_then_comment', [`${BOM}:comment\ndata: Hello\n\n`], [{ comment: 'comment' }, { data: 'Hello' }]],
  ['bom_then_empty_data', [`${BOM}data:\n\n`], messages('')],
];

const COMMENTS: readonly Row[] = [
  ['one_comment', [':Hello\n'], [{ comment: 'Hello' }], { note: 'reported before any blank line' }],
  ['two_comments', [':Hello\n', ':World\n'], [{ comment: 'Hello' }, { comment: 'World' }]],
  ['comment_then_event', [':Hello\n', 'data: Hello\n\n'], [{ comment: 'Hello' }, { data: 'Hello' }]],
  ['event_then_comment', ['data: Hello\n\n', ':Hello\n'], [{ data: 'Hello' }, { comment: 'Hello' }]],
];

export const LAUNCHDARKLY_PARSING: readonly StreamCase[] = rows('tests_basic_parsing.go', PARSING);
export const LAUNCHDARKLY_MARKS: readonly StreamCase[] = rows('tests_bom.go', MARKS);
export const LAUNCHDARKLY_COMMENTS: readonly StreamCase[] = rows('tests_comments.go', COMMENTS);
