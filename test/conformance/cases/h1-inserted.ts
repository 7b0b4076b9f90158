import type { Expected, MessageCase } from '../support/message-case.js';
import { quoted } from '../support/told.js';

/** web-platform-tests, fetch/h1-parsing/: one byte put in at each place of a head. */

const BASE = 'HTTP/1.1 200 OK\r\nX-Frame-Options:DENY\r\nContent-Length: 5\r\n\r\nTest.';
const BODY = 'Test.';

/** Offsets in the message. */
const PLACES = {
  first: 0,
  in_http: 2,
  before_slash: 4,
  after_slash: 5,
  before_dot: 6,
  after_dot: 7,
  after_ver: 8,
  before_num: 9,
  after_num: 12,
  before_reason: 13,
  after_reason: 15,
  leading: 17,
  in_name: 24,
  before_colon: 32,
  after_colon: 33,
  in_value: 35,
  after_value: 37,
} as const;
type Place = keyof typeof PLACES;

const SYMBOLS = { lf: '\n', cr: '\r', htab: '\t', sp: ' ', nul: '\0', colon: ':' } as const;
type Id = `${keyof typeof SYMBOLS}_${Place}`;

const read = (option?: string): Expected => ({
  status: 200,
  ...(option === undefined ? {} : { headers: { 'x-frame-options': option } }),
  body: BODY,
});

/** All others are a network error. */
const ACCEPTED: { readonly [K in Id]?: Expected } = {
  htab_before_reason: read(),
  htab_after_reason: read(),
  htab_after_colon: read('DENY'),
  htab_in_value: read('DE\tNY'),
  htab_after_value: read('DENY'),
  sp_before_reason: read(),
  sp_after_reason: read(),
  sp_after_colon: read('DENY'),
  sp_in_value: read('DE NY'),
  sp_after_value: read('DENY'),
};

const ANY_SPACE = 'RFC 9112, section 4: a reader may split the line at any white space';
const SKIPPED = 'RFC 9112, section 2.2: a reader may refuse it, or skip the line';
const CR_IS_SPACE = 'RFC 9112, section 2.2: a reader may take a bare CR for a space';
const NUL_IS_SPACE = 'RFC 9110, section 5.5: a reader may take a NUL for a space';
const COLON = 'RFC 9112 allows it';

const CONTESTED: { readonly [K in Id]?: string } = {
  lf_first: 'RFC 9112, section 2.2: a reader may skip an empty line before the message',
  lf_after_num: SKIPPED,
  lf_after_reason: 'RFC 9112, section 2.2: a reader may take a bare LF for a line end, and the head ends here',
  lf_leading: 'RFC 9112, section 2.2: a reader may take a bare LF for a line end, and the head ends here',
  lf_after_value: 'RFC 9112, section 2.2: a reader may take a bare LF for a line end, and the head ends here',
  cr_after_num: CR_IS_SPACE,
  cr_before_reason: CR_IS_SPACE,
  cr_after_reason: CR_IS_SPACE,
  cr_after_colon: CR_IS_SPACE,
  cr_in_value: CR_IS_SPACE,
  cr_after_value: CR_IS_SPACE,
  htab_first: ANY_SPACE,
  htab_after_ver: ANY_SPACE,
  htab_before_num: ANY_SPACE,
  htab_after_num: ANY_SPACE,
  htab_leading: SKIPPED,
  sp_first: ANY_SPACE,
  sp_after_ver: `the bytes of sp_before_num; ${ANY_SPACE}`,
  sp_before_num: `the bytes of sp_after_ver; ${ANY_SPACE}`,
  sp_after_num: 'the bytes of sp_before_reason, which is expected to be read: the suite contradicts itself',
  sp_before_reason: 'the bytes of sp_after_num, which is expected to fail: the suite contradicts itself',
  sp_leading: SKIPPED,
  nul_after_colon: NUL_IS_SPACE,
  nul_in_value: NUL_IS_SPACE,
  nul_after_value: NUL_IS_SPACE,
  colon_before_reason: COLON,
  colon_after_reason: COLON,
  colon_in_name: `${COLON}: a field X-Frame`,
  colon_before_colon: `the bytes of colon_after_colon; ${COLON}`,
  colon_after_colon: `the bytes of colon_before_colon; ${COLON}`,
  colon_in_value: COLON,
  colon_after_value: COLON,
};

const told = (option = 'DENY', reason = 'OK', name = 'x-frame-options'): string =>
  `200 ${quoted(reason)}, content-length "5", ${name} ${quoted(option)}, body ${quoted(BODY)}`;

/** What undici does with those that it doesn't take as expected. */
const UNDICI: { readonly [K in Id]?: string } = {
  lf_first: told(),
  cr_first: told(),
  htab_after_value: told('DENY\t'),
  sp_after_num: told('DENY', ' OK'),
  sp_after_value: told('DENY '),
  nul_before_reason: told('DENY', '\0OK'),
  nul_after_reason: told('DENY', 'OK\0'),
  colon_before_reason: told('DENY', ':OK'),
  colon_after_reason: told('DENY', 'OK:'),
  colon_in_name: told('-Options:DENY', 'OK', 'x-frame'),
  colon_before_colon: told(':DENY'),
  colon_after_colon: told(':DENY'),
  colon_in_value: told('DE:NY'),
  colon_after_value: told('DENY:'),
};

const entries = <K extends string, V>(all: Readonly<Record<K, V>>): [K, V][] => Object.entries(all) as [K, V][];

export const H1_INSERTED: readonly MessageCase[] = entries(SYMBOLS).flatMap(([symbol, byte]) =>
  entries(PLACES).map(([place, at]): MessageCase => {
    const id: Id = `${symbol}_${place}`;
    const { [id]: contested } = CONTESTED;
    const { [id]: undici } = UNDICI;
    return {
      id,
      source: `fetch/h1-parsing/resources/parsing_${symbol.toUpperCase()}_${place}.asis`,
      bytes: `${BASE.slice(0, at)}${byte}${BASE.slice(at)}`,
      fault: {
        answer: { kind: 'http', status: 200, body: BODY },
        framing: { kind: 'until_close' },
        head: { raw: BASE.slice(0, -BODY.length) },
        splice: [{ at: `byte:${at}`, layer: 'wire', hex: Buffer.from(byte).toString('hex') }],
      },
      expected: ACCEPTED[id] ?? 'network error',
      ...(contested === undefined ? {} : { contested }),
      ...(undici === undefined ? {} : { undici }),
    };
  }),
);
