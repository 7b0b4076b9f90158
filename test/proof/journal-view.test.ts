import { describe, expect, it } from 'vitest';
import { listing, rowOf, story } from '../../src/proof/journal-view.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { ledgerSchema } from '../../src/proof/ledger.js';
import { type Paint, plain } from '../../src/proof/paint.js';
import { BLOCKS, ledgerWith, NULLS, REQUEST, RESET_WITH_LOSS, STALE, STALL } from './ledgers.js';

const ALL = [ledgerWith(), RESET_WITH_LOSS, STALL, STALE, NULLS];
const list = (...ledgers: Ledger[]): string => listing(ledgers.map(rowOf), plain);
/** Colors that can be seen, and taken away again. */
const marked: Paint = (_, text) => `«${text}»`;
const unmarked = (text: string): string => text.replaceAll(/[«»]/g, '');
/** The row of the picture that is called `label`. */
const rowIn = (ledger: Ledger, label: string): string =>
  story(ledger, plain)
    .split('\n')
    .find((line) => line.startsWith(`  ${label} `) && /[█·━┊▲?]/.test(line)) ?? '';

it('the hand-made ledgers are ledgers', () => {
  for (const ledger of [...ALL, BLOCKS]) expect(ledgerSchema.parse(ledger)).toEqual(ledger);
});

describe('a line for each', () => {
  it('is aligned, with the sum of all', () => {
    expect(`\n${list(...ALL)}`).toBe(`
 #  time          path                  behavior            outcome    written  flushed   acked   read  cut                teardown    first
 1  16:21:53.991  /v1/chat/completions  success             completed     1000     1000    1000   1000  -                  keep_alive  -
 2  16:21:54.058  /v1/chat/completions  partial_disconnect  reset      4000000  2600000  195000  65536  event:3 = 4000000  rst         server
13  16:21:53.991  /v1/chat/completions  stall               stalled        320      320     320    320  headers = 320      stall       client FIN
 1  16:21:53.991  /v1/chat/completions  success             completed     1000     1000    ≥400     ≥0  -                  keep_alive  client RST
 1  16:21:53.991  /v1/chat/completions  success             completed     1000     1000       ?      ?  -                  keep_alive  -
5 exchanges: 3 completed, 1 reset, 1 stalled; at most 3,805,600 bytes lost in 2
`);
  });

  it('none', () => {
    expect(list()).toMatch(/^# {2}time {2}path .*\n0 exchanges\n$/);
  });

  it("what a client said can't steer the terminal", () => {
    const request = { ...REQUEST, path: '/v1/\u001b[2J\u0007', userAgent: 'a\u009bb' };
    const ledger = ledgerWith({ request });
    expect(list(ledger)).toContain('/v1/\\x1b[2J\\x07  ');
    expect(story(ledger, plain)).toContain('by a\\x9bb\n');
  });

  it('colors change no width', () => {
    const colored = listing(ALL.map(rowOf), marked);
    expect(colored).toContain('«reset»');
    expect(unmarked(colored)).toBe(list(...ALL));
  });
});

describe('the whole story', () => {
  it('a reset with loss', () => {
    expect(`\n${story(RESET_WITH_LOSS, plain)}`).toBe(`
exchange 2: partial_disconnect, reset
  request    POST /v1/chat/completions (openai-chat), HTTP/1.1 by node
             connection 2 from 127.0.0.1 port 40000, exchange 1 on it; lane default, attempt 2
             body of 102 bytes, SHA-256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  headers    host: 127.0.0.1:8000
             authorization: Bearer [redacted]
  selection  partial_disconnect, scripted as random, from the script
  plan       5,000,000 bytes, SHA-256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  cut        at event:3 = byte 4,000,000, inside event:3 (content)+17

  plan     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━   5,000,000
  written  ██████████████████████████████████████··········   4,000,000
  flushed  █████████████████████████·······················   2,600,000  1,400,000 not taken by the kernel
  acked    ██··············································     195,000  3,805,000 not acknowledged
  read     █···············································      65,536  129,464 not read
  mark                                           ┊            3,999,983  start of event:3 (content)
  cut                                            ▲            4,000,000  event:3 (content)+17

  events   planned  flushed    acked     read
  role           1        1        1        1
  content       12        7        2        0
  [DONE]         1        0        0        0

  evidence   koffi
  lost       3,805,000 bytes: written, but not acknowledged when it ended
  terminal   [DONE]: not delivered
  settle     read not reached after 2000.1 ms
  teardown   rst; first to end it: server
  times      request at 2026-11-30T16:21:54.058Z
             first write after 0.162 ms
             teardown after 2060.2 ms
             end after 2060.5 ms
`);
  });

  it('a stall that the client ended', () => {
    expect(`\n${story(STALL, plain)}`).toBe(`
exchange 13: stall, stalled
  request    POST /v1/chat/completions (openai-chat), HTTP/1.1 by node
             connection 1 from 127.0.0.1 port 40000, exchange 1 on it; lane default, attempt 1
             body of 102 bytes, SHA-256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  headers    host: 127.0.0.1:8000
             authorization: Bearer [redacted]
  selection  stall, from the script
  plan       1,000 bytes, SHA-256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  cut        at headers = byte 320, after headers:1

  plan     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━   1,000
  written  ███████████████·································     320
  flushed  ███████████████·································     320
  acked    ███████████████·································     320
  read     ███████████████·································     320
  cut                     ▲                                     320  after headers:1

  events  planned  flushed    acked     read
  role          1        0        0        0

  evidence   koffi
  lost       nothing: all 320 written bytes were acknowledged
  terminal   [DONE]: not delivered
  settle     none
  teardown   stall; first to end it: client FIN
  times      request at 2026-11-30T16:21:53.991Z
             first write after 0.595 ms
             end after 1.068 ms
`);
  });

  it('stale counts are lower bounds, and what they lack is not said to be lost', () => {
    expect(`\n${story(STALE, plain)}`).toBe(`
exchange 1: success, completed
  request    POST /v1/chat/completions (openai-chat), HTTP/1.1 by node
             connection 1 from 127.0.0.1 port 40000, exchange 1 on it; lane default, attempt 1
             body of 102 bytes, SHA-256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  headers    host: 127.0.0.1:8000
             authorization: Bearer [redacted]
  selection  success, from the script
  plan       1,000 bytes, SHA-256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  cut        none

  plan     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━   1,000
  written  ████████████████████████████████████████████████   1,000
  flushed  ████████████████████████████████████████████████   1,000
  acked    ███████████████████·····························    ≥400  last known: the socket went before it could be asked again
  read     ················································      ≥0  last known: the socket went before it could be asked again

  events  planned  flushed    acked     read
  role          1        1        1       ≥0

  evidence   koffi; the socket went before it could be asked for the last time
  lost       at most 600 bytes: written, but not acknowledged when it ended
  terminal   [DONE]: not proven to be delivered
  settle     none
  teardown   keep_alive; first to end it: client RST
  times      request at 2026-11-30T16:21:53.991Z
             first write after 0.595 ms
             end after 1.068 ms
`);
  });

  it('what is unknown is said to be unknown', () => {
    expect(`\n${story(NULLS, plain)}`).toBe(`
exchange 1: success, completed
  request    POST /v1/chat/completions (openai-chat), HTTP/1.1
             connection 1, exchange 1 on it; lane default, attempt 1
             body of 102 bytes, SHA-256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  selection  success, from the script
  plan       1,000 bytes, SHA-256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  cut        none

  plan     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━   1,000
  written  ████████████████████████████████████████████████   1,000
  flushed  ████████████████████████████████████████████████   1,000
  acked                                                           ?  unknown: callbacks can't tell
  read                                                            ?  unknown: callbacks can't tell

  events  planned  flushed    acked     read
  role          1        1        ?        ?

  evidence   callbacks
  lost       unknown
  terminal   [DONE]: unknown whether it was delivered
  settle     none
  teardown   keep_alive; the connection stayed open
  times      request at 2026-11-30T16:21:53.991Z
             end after 1 ms
`);
  });

  it('a request that was not looked at, or not read whole', () => {
    const early = story(ledgerWith({ request: null, requestBytes: 7 }), plain);
    expect(early).toContain(`
  request    not looked at; read of it: 7 bytes
             connection 1 from 127.0.0.1 port 40000, exchange 1 on it; lane default, attempt 1
  selection  success`);
    expect(list(ledgerWith({ request: null }))).toMatch(/^1 {2}16:21:53\.991 {2}- {5}success /m);
    const unread = story(ledgerWith({ request: { ...REQUEST, bodyBytes: null, bodySha256: null } }), plain);
    expect(unread).toContain('\n             its body was not read\n');
  });

  it('layers of the fault that the answer had no place for', () => {
    expect(story(ledgerWith({ unapplied: ['events', 'sse'] }), plain)).toContain(
      '\n  unapplied  events, sse: the answer has no place for it\n',
    );
  });

  it('pauses, where there were any, and by how much they were shortened', () => {
    const paused = (scale: number): string => {
      const { times } = ledgerWith();
      return story(ledgerWith({ times: { ...times, scale, plannedWaitMs: 30_000 } }), plain);
    };
    expect(paused(1)).toContain('\n             pauses of 30000 ms planned\n');
    expect(paused(100)).toContain('\n             pauses of 30000 ms planned, played 100 times faster\n');
  });

  it('content blocks', () => {
    expect(story(BLOCKS, plain)).toContain('\n  blocks     3 of 4 told paragraphs delivered\n');
    expect(story(ledgerWith(), plain)).not.toContain('blocks');
  });

  it('colors change no width', () => {
    for (const ledger of ALL) {
      const bare = unmarked(story(ledger, marked));
      expect(bare.replaceAll(/ +$/gm, '')).toBe(story(ledger, plain).replaceAll(/ +$/gm, ''));
    }
  });
});

describe('the picture', () => {
  it('a single byte shows, and a missing one, too', () => {
    const bytes = { written: 999_999, flushed: 1, acked: 0, read: 0 };
    const ledger = ledgerWith({ plan: { ...ledgerWith().plan, bytes: 1_000_000 }, bytes, lost: 999_999 });
    expect(rowIn(ledger, 'plan')).toContain('━'.repeat(48));
    expect(rowIn(ledger, 'written')).toContain(`${'█'.repeat(47)}· `);
    expect(rowIn(ledger, 'flushed')).toContain(` █${'·'.repeat(47)} `);
    expect(rowIn(ledger, 'acked')).toContain(` ${'·'.repeat(48)} `);
  });

  it('keep-alives that go on for ever are more than the plan', () => {
    const cut = { position: 'last_chunk', offset: 900, inside: 'after event:2 (ping)' };
    const bytes = { written: 2000, flushed: 2000, acked: 2000, read: 2000 };
    const ledger = ledgerWith({ cut, bytes });
    expect(rowIn(ledger, 'plan')).toContain(`${'━'.repeat(24)}${' '.repeat(24)}   1,000`);
    expect(rowIn(ledger, 'written')).toMatch(/2,000 {2}1,100 of them repeated keep-alives$/);
  });

  it('a cut before and behind everything', () => {
    const first = ledgerWith({ cut: { position: 'request', offset: 0, inside: 'before the answer' } });
    expect(rowIn(first, 'cut')).toMatch(/^ {2}cut {6}▲ {48} +0 {2}before the answer$/);
    const last = ledgerWith({ cut: { position: 'end', offset: 1000, inside: 'after everything' } });
    expect(rowIn(last, 'cut')).toMatch(/^ {2}cut {54}▲ {2}1,000 {2}after everything$/);
  });
});
