import { describe, expect, it } from 'vitest';
import type { RequestHead } from '../../src/http/request.js';
import { type ParserLimits, requestParser } from '../../src/http/request-parser.js';

/**
 * Every input is fed whole, byte by byte, and in two pieces split at every position (h11's habit): what is read must
 * not depend on how the network has split it.
 */
const LIMITS: ParserLimits = { maxHeadBytes: 4096, maxBodyBytes: 100_000, keepRaw: true };

/** What the parser tells, in order: a request, a refusal's status, or that the client waits for a 100. */
type Told = 'continue' | number | Record<string, unknown>;

interface Reading {
  readonly told: readonly Told[];
  readonly reasons: readonly string[];
  /** The bytes of each request as they came. */
  readonly raws: readonly string[];
  readonly midRequest: boolean;
}

function read(pieces: readonly Buffer[], limits: ParserLimits): Reading {
  const told: Told[] = [];
  const reasons: string[] = [];
  const raws: string[] = [];
  const parser = requestParser(limits, {
    onHead: ({ expectsContinue }) => {
      if (expectsContinue) told.push('continue');
      return true;
    },
    onRequest: ({ body, headers, raw, ...request }) => {
      told.push({ ...request, headers: { ...headers }, body: body.toString('utf8') });
      if (raw) raws.push(raw.toString('utf8'));
    },
    onBad: ({ status, reason }) => {
      told.push(status);
      reasons.push(reason);
    },
  });
  for (const piece of pieces) parser.feed(piece);
  return { told, reasons, raws, midRequest: parser.midRequest() };
}

const bytewise = (bytes: Buffer): Buffer[] => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));

/** Reads `input` in every way, and says what was read if it was the same each time. */
function readEachWay(input: string | Buffer, limits = LIMITS): Reading {
  const bytes = typeof input === 'string' ? Buffer.from(input, 'utf8') : input;
  const whole = read([bytes], limits);
  const same = ({ told, raws, midRequest }: Reading): object => ({ told, raws, midRequest });
  expect(same(read(bytewise(bytes), limits)), 'byte by byte').toEqual(same(whole));
  for (let at = 1; at < bytes.length; at++) {
    const split = read([bytes.subarray(0, at), bytes.subarray(at)], limits);
    expect(same(split), `split at ${at}`).toEqual(same(whole));
  }
  return whole;
}

const told = (input: string | Buffer, limits?: ParserLimits): readonly Told[] => readEachWay(input, limits).told;

const POST = 'POST /v1/chat/completions HTTP/1.1\r\n';
const GET = 'GET /x HTTP/1.1\r\n\r\n';
const chunkedPost = (body: string): string => `${POST}Transfer-Encoding: chunked\r\n\r\n${body}`;
const sizedPost = (length: string, body = ''): string => `${POST}Content-Length: ${length}\r\n\r\n${body}`;

describe('requests', () => {
  it('a request with all its parts', () => {
    const input = `POST /v1/x?a=1&b=?%20c HTTP/1.1\r\nHost: x\r\nX-Two: a\r\nx-two:\t b \t\r\nEmpty:\r\nContent-Length: 7\r\n\r\n{"a":1}`;
    expect(told(input)).toEqual([
      {
        method: 'POST',
        target: '/v1/x?a=1&b=?%20c',
        path: '/v1/x',
        httpVersion: '1.1',
        headers: { host: 'x', 'x-two': 'a, b', empty: '', 'content-length': '7' },
        body: '{"a":1}',
        keepAlive: true,
        expectsContinue: false,
      },
    ]);
  });

  const BODIES: Record<string, readonly [input: string, ...bodies: string[]]> = {
    'no body': [GET, ''],
    'content-length 0': [sizedPost('0'), ''],
    'content-length with leading zeros': [sizedPost('007', '{"a":1}'), '{"a":1}'],
    'two equal content-lengths': [`${POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`, '{}'],
    'UTF-8': [sizedPost('22', '{"text":"é … 😀"}'), '{"text":"é … 😀"}'],
    'a chunked body': [chunkedPost('5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n'), 'hello world'],
    'an empty chunked body': [chunkedPost('0\r\n\r\n'), ''],
    'chunk sizes in either case, with zeros': [
      chunkedPost('00A\r\n0123456789\r\n0a\r\nabcdefghij\r\n000\r\n\r\n'),
      '0123456789abcdefghij',
    ],
    'chunk extensions': [chunkedPost('5;a=b\r\nhello\r\n5 ;q="x;y"\r\nthere\r\n0;last\r\n\r\n'), 'hellothere'],
    trailers: [chunkedPost('2\r\n{}\r\n0\r\nX-Sum: 1\r\nX-More:\r\n\r\n'), '{}'],
    'Transfer-Encoding in capitals': [`${POST}TRANSFER-ENCODING: Chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`, '{}'],
    'bare line feeds': [sizedPost('2', '{}').replaceAll('\r\n', '\n'), '{}'],
    'a body that looks like a request': [sizedPost(String(GET.length), GET), GET],
    'an upgrade offer with a chunked body': [
      chunkedPost('2\r\n{}\r\n0\r\n\r\n').replace(
        '\r\n',
        '\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n',
      ),
      '{}',
    ],
    'an upgrade offer without a body, pipelined': [
      `${GET.replace('\r\n', '\r\nConnection: upgrade\r\nUpgrade: websocket\r\n')}${sizedPost('2', '[]')}`,
      '',
      '[]',
    ],
    'requests pipelined': [
      `${GET}${sizedPost('2', '{}')}${chunkedPost('2\r\n[]\r\n0\r\n\r\n')}${GET}`,
      '',
      '{}',
      '[]',
      '',
    ],
    'blank lines before, between and after': [
      `\r\n\r\n${sizedPost('2', '{}')}\r\n\n\r\n${sizedPost('2', '[]')}\r\n`,
      '{}',
      '[]',
    ],
    'a body that ends in CRLF, pipelined': [`${sizedPost('4', '{}\r\n')}${GET}`, '{}\r\n', ''],
  };
  for (const [name, [input, ...bodies]] of Object.entries(BODIES)) {
    it(name, () => {
      const { told, reasons, raws, midRequest } = readEachWay(input);
      expect(told).toEqual(bodies.map((body) => expect.objectContaining({ body })));
      expect({ reasons, midRequest }).toEqual({ reasons: [], midRequest: false });
      // Each byte belongs to one request, but for blank lines that no request has followed yet.
      expect(raws).toHaveLength(bodies.length);
      expect(input.startsWith(raws.join(''))).toBe(true);
      expect(input.slice(raws.join('').length)).toMatch(/^[\r\n]*$/);
    });
  }

  it('the bytes of a character may lie in two chunks', () => {
    const [first, second] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
    const crlf = Buffer.from('\r\n');
    const parts = [Buffer.from(chunkedPost('1\r\n')), first, crlf, Buffer.from('1\r\n'), second, crlf];
    expect(told(Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]))).toMatchObject([{ body: 'é' }]);
  });

  it('header values are octets', () => {
    const input = Buffer.from('GET / HTTP/1.1\r\nX-Name: \xe9\xff\r\n\r\n', 'latin1');
    expect(told(input)).toMatchObject([{ headers: { 'x-name': '\xe9\xff' } }]);
  });

  it('header names of objects are names like others', () => {
    expect(told('GET / HTTP/1.1\r\nconstructor: a\r\ntoString: b\r\n\r\n')).toMatchObject([
      { headers: { constructor: 'a', tostring: 'b' } },
    ]);
  });

  for (const [target, path] of Object.entries({
    'http://proxy.example/v1/chat/completions?fault=rst': 'http://proxy.example/v1/chat/completions',
    '/a//b/../c?': '/a//b/../c',
    '*': '*',
  })) {
    it(`the target ${target} is told as it was sent`, () => {
      expect(told(`OPTIONS ${target} HTTP/1.1\r\n\r\n`)).toMatchObject([{ target, path }]);
    });
  }

  it('nothing of the bytes is kept where they were not asked for', () => {
    expect(read([Buffer.from(GET)], { ...LIMITS, keepRaw: false }).raws).toEqual([]);
  });

  const KEPT: Record<string, boolean> = {
    'HTTP/1.1\r\n': true,
    'HTTP/1.1\r\nConnection: keep-alive\r\n': true,
    'HTTP/1.1\r\nConnection: close\r\n': false,
    'HTTP/1.1\r\nConnection: Close, TE\r\n': false,
    'HTTP/1.1\r\nConnection: TE\r\nConnection: close\r\n': false,
    'HTTP/1.0\r\n': false,
    'HTTP/1.0\r\nConnection: keep-alive\r\n': false,
  };
  for (const [head, keepAlive] of Object.entries(KEPT)) {
    it(`${JSON.stringify(head)} ${keepAlive ? 'keeps' : 'ends'} the connection`, () => {
      expect(told(`GET / ${head}\r\n`)).toMatchObject([{ keepAlive, httpVersion: head.slice(5, 8) }]);
    });
  }
});

describe('Expect: 100-continue', () => {
  const asked = (head: string): string => head.replace('\r\n', '\r\nExpect: 100-Continue\r\n');
  const ROWS: Record<string, readonly [input: string, ...told: Told[]]> = {
    'asked for, with a length': [asked(sizedPost('2', '{}')), 'continue', expect.objectContaining({ body: '{}' })],
    'asked for, chunked': [asked(chunkedPost('0\r\n\r\n')), 'continue', expect.objectContaining({ body: '' })],
    'asked for before the body has come': [asked(sizedPost('2')), 'continue'],
    'not asked for': [sizedPost('2', '{}'), expect.objectContaining({ body: '{}' })],
    'without a body to wait for': [asked(GET), expect.objectContaining({ method: 'GET' })],
    'with an empty body': [asked(sizedPost('0')), expect.objectContaining({ body: '' })],
    'of a client that speaks HTTP/1.0': [
      asked(sizedPost('2', '{}')).replace('HTTP/1.1', 'HTTP/1.0'),
      expect.objectContaining({ body: '{}' }),
    ],
    'another expectation': [sizedPost('0').replace('\r\n', '\r\nExpect: 200-ok\r\n'), expect.anything()],
    'of a body that is refused': [asked(sizedPost('100001')), 413],
    'of the second of two pipelined requests': [
      `${GET}${asked(sizedPost('2', '{}'))}`,
      expect.objectContaining({ method: 'GET' }),
      'continue',
      expect.objectContaining({ body: '{}' }),
    ],
  };
  for (const [name, [input, ...wanted]] of Object.entries(ROWS)) {
    it(name, () => expect(told(input)).toEqual(wanted));
  }
});

describe('a head that is enough', () => {
  /** Wants the rest of no request whose path is `/stop`. */
  function readUpTo(pieces: readonly Buffer[]) {
    const heads: RequestHead[] = [];
    const bodies: string[] = [];
    const bad: number[] = [];
    const parser = requestParser(LIMITS, {
      onHead: (head) => {
        heads.push(head);
        return head.path !== '/stop';
      },
      onRequest: ({ body }) => bodies.push(body.toString('utf8')),
      onBad: ({ status }) => bad.push(status),
    });
    for (const piece of pieces) parser.feed(piece);
    return { heads, bodies, bad, midRequest: parser.midRequest() };
  }
  const stopped = sizedPost('7', '{"a":1}').replace('/v1/chat/completions', '/stop?now');

  it('is told before its body has come, with all that the line and the headers say', () => {
    for (const rest of ['', '{"a":1}', '{"a":1}GET', '\0 nonsense']) {
      const bytes = Buffer.from(`${sizedPost('2', '{}')}${stopped.replace('{"a":1}', rest)}`);
      for (const pieces of [[bytes], bytewise(bytes)]) {
        const { heads, bodies, bad, midRequest } = readUpTo(pieces);
        expect(heads).toHaveLength(2);
        expect({ ...heads[1], headers: { ...heads[1]?.headers } }).toEqual({
          method: 'POST',
          target: '/stop?now',
          path: '/stop',
          httpVersion: '1.1',
          headers: { 'content-length': '7' },
          keepAlive: true,
          expectsContinue: false,
        });
        // Nothing behind it is read, and so nothing of it is wrong.
        expect({ bodies, bad, midRequest }).toEqual({ bodies: ['{}'], bad: [], midRequest: false });
      }
    }
  });

  it('is none where it is refused', () => {
    expect(readUpTo([Buffer.from(stopped.replace(': 7', ': x'))])).toMatchObject({ heads: [], bad: [400] });
  });
});

describe('refusals', () => {
  const HELLO = Buffer.from('16030100c8010000c403030a0d0a', 'hex');
  const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
  const header = (line: string): string => `${POST}Host: x\r\n${line}\r\n\r\n`;
  const ROWS: Record<string, readonly [input: string | Buffer, status: number, reason: RegExp]> = {
    'a TLS ClientHello': [HELLO, 400, /TLS handshake; use http:/],
    'a TLS ClientHello that has one byte so far': [HELLO.subarray(0, 1), 400, /TLS handshake/],
    'a byte that begins no method': ['{"stream":true}', 400, /^"\{/],
    'a NUL': ['\0', 400, /request line/],
    'an HTTP/2 preface': [PREFACE, 505, /HTTP\/2 is not spoken here; use HTTP\/1\.1/],
    'HTTP/2.0 in a request line': ['GET / HTTP/2.0\r\n\r\n', 505, /HTTP\/2\.0/],
    'HTTP/0.9': ['GET /\r\n', 400, /"GET \/" is not/],
    'a request line with too many words': ['GET / x HTTP/1.1\r\n\r\n', 400, /request line/],
    'a request line with a tab': ['GET\t/ HTTP/1.1\r\n\r\n', 400, /request line/],
    'a CR before the request line': [`\r${GET}`, 400, /request line/],
    'a CR inside the request line': ['GET /\r HTTP/1.1\r\n\r\n', 400, /request line/],
    'an unknown method': ['BREW / HTTP/1.1\r\n\r\n', 501, /unknown method "BREW"/],
    'an answer': ['HTTP/1.1 200 OK\r\n\r\n', 400, /request line/],
    'a folded header': [header('X-A: 1\r\n folded'), 400, /" folded" is not "name: value"/],
    'a folded first header': [`${POST} folded: 1\r\n\r\n`, 400, /name: value/],
    'a header line without a colon': [header('nonsense'), 400, /"nonsense"/],
    'a header line without a name': [header(': 1'), 400, /name: value/],
    'a space before the colon': [header('Content-Length : 5'), 400, /name: value/],
    'a NUL in a header': [header('X-A: a\0b'), 400, /name: value/],
    'a CR in a header': [header('X-A: a\rX-B: b'), 400, /CR inside/],
    'a chunk size that is a word': [chunkedPost('zz\r\n'), 400, /"zz" is not a hexadecimal number/],
    'a negative chunk size': [chunkedPost('-1\r\n'), 400, /"-1"/],
    'a chunk size with 0x': [chunkedPost('0x10\r\n'), 400, /"0x10"/],
    'a chunk size with a space before it': [chunkedPost(' 5\r\nhello\r\n'), 400, /" 5"/],
    'an empty chunk size': [chunkedPost('\r\n'), 400, /""/],
    'a chunk size that is an extension alone': [chunkedPost(';a\r\n'), 400, /";a"/],
    'a chunk size over all numbers': [chunkedPost(`${'f'.repeat(400)}\r\n`), 413, /over 100000 bytes/],
    'a chunk that is longer than its size': [chunkedPost('2\r\nabc\r\n'), 400, /more bytes than its size/],
    'a trailer without a colon': [chunkedPost('0\r\nnonsense\r\n\r\n'), 400, /"nonsense"/],
    'a folded trailer': [chunkedPost('0\r\nX-A: 1\r\n 2\r\n\r\n'), 400, /" 2"/],
    'content-length 1e3': [sizedPost('1e3'), 400, /content-length "1e3" is not a number/],
    'content-length -5': [sizedPost('-5'), 400, /"-5"/],
    'content-length +5': [sizedPost('+5'), 400, /"\+5"/],
    'content-length 0x5': [sizedPost('0x5'), 400, /"0x5"/],
    'content-length 5.0': [sizedPost('5.0'), 400, /"5\.0"/],
    'content-length 5, 5': [sizedPost('5, 5'), 400, /"5, 5"/],
    'content-length without a value': [sizedPost(''), 400, /""/],
    'content-length over all numbers': [sizedPost('9'.repeat(400)), 413, /over 100000 bytes/],
    'two content-lengths that differ': [`${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`, 400, /disagree/],
    'transfer-encoding and content-length': [header('Transfer-Encoding: chunked\r\nContent-Length: 5'), 400, /both/],
    'content-length and transfer-encoding': [header('Content-Length: 5\r\nTransfer-Encoding: chunked'), 400, /both/],
    'transfer-encoding gzip': [header('Transfer-Encoding: gzip'), 501, /"gzip" is unknown; use chunked/],
    'transfer-encoding gzip, chunked': [header('Transfer-Encoding: gzip, chunked'), 501, /"gzip, chunked"/],
    'transfer-encoding chunked twice': [
      header('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked'),
      501,
      /use chunked/,
    ],
    'transfer-encoding in HTTP/1.0': [
      chunkedPost('').replace('HTTP/1.1', 'HTTP/1.0'),
      400,
      /HTTP\/1\.0 has no transfer-encoding/,
    ],
  };
  for (const [name, [input, status, reason]] of Object.entries(ROWS)) {
    it(`${name}: ${status}, and nothing is read after it`, () => {
      const alone = readEachWay(input);
      expect(alone).toMatchObject({ told: [status], reasons: [expect.stringMatching(reason)], midRequest: false });
      const followed = Buffer.concat([Buffer.from(GET), Buffer.from(input), Buffer.from(GET)]);
      expect(told(followed)).toEqual([expect.objectContaining({ target: '/x' }), status]);
    });
  }

  it('a reason shows little of a long line, in printable characters', () => {
    const { reasons } = readEachWay(`${POST}\u001b[2J${'a'.repeat(1000)}\r\n\r\n`);
    expect(reasons).toEqual([`header line "\\u001b[2J${'a'.repeat(56)}…" is not "name: value"`]);
  });
});

describe('limits', () => {
  const HEAD = 300;
  const limits: ParserLimits = { maxHeadBytes: HEAD, maxBodyBytes: 50 };
  /** `before` and then `after`, which begin and end `bytes` bytes of a head. */
  const filled = (before: string, after: string, bytes: number): string =>
    `${before}${'a'.repeat(bytes - before.length - after.length)}${after}`;

  const AT: Record<string, (headBytes: number) => string> = {
    'in a header': (bytes) => filled('GET / HTTP/1.1\r\nX: ', '\r\n\r\n', bytes),
    'in the request line': (bytes) => filled('GET /', ' HTTP/1.1\r\n\r\n', bytes),
    'in the head before a chunked body': (bytes) =>
      `${filled(chunkedPost('').replace('\r\n\r\n', '\r\nX: '), '\r\n\r\n', bytes)}2\r\n{}\r\n0\r\n\r\n`,
    'in the second request': (bytes) => `${GET}${filled('GET / HTTP/1.1\r\nX: ', '\r\n\r\n', bytes)}`,
    'behind blank lines': (bytes) => `${'\r\n'.repeat(200)}${filled('GET / HTTP/1.1\r\nX: ', '\r\n\r\n', bytes)}`,
    'in a trailer': (bytes) => chunkedPost(`0\r\n${filled('X: ', '\r\n\r\n', bytes)}`),
    'in many trailers': (bytes) =>
      chunkedPost(`0\r\n${'X: 1\r\n'.repeat(40)}${filled('X: ', '\r\n\r\n', bytes - 240)}`),
  };
  for (const [name, input] of Object.entries(AT)) {
    it(`a head at the limit is read, one byte over it is not: ${name}`, () => {
      expect(told(input(HEAD), limits).at(-1)).toMatchObject({ httpVersion: '1.1' });
      const { told: over, reasons } = readEachWay(input(HEAD + 1), limits);
      expect(over.at(-1)).toBe(431);
      expect(reasons).toEqual([`the request's head is over ${HEAD} bytes`]);
    });
  }

  const ENDLESS: Record<string, readonly [input: string, status: number]> = {
    'a request line': [`GET /${'a'.repeat(HEAD)}`, 431],
    'a header': [`${POST}X: ${'a'.repeat(HEAD)}`, 431],
    'a header without a colon': [`${POST}${'a'.repeat(HEAD)}`, 431],
    'a trailer': [chunkedPost(`0\r\n${'a'.repeat(HEAD + 1)}`), 431],
    'a chunk extension': [chunkedPost(`5;${'a'.repeat(4096)}`), 413],
    'a chunk size that is none': [chunkedPost('z'.repeat(4098)), 413],
  };
  for (const [name, [input, status]] of Object.entries(ENDLESS)) {
    it(`without an end, ${name} is refused: ${status}`, () => {
      const bytes = Buffer.from(input);
      const wholes = [[bytes], bytewise(bytes), [Buffer.from(`${input}\r\n`)]];
      expect(wholes.map((pieces) => read(pieces, limits).told)).toEqual([[status], [status], [status]]);
    });
  }

  it('a chunk extension at its limit is read', () => {
    const bytes = Buffer.from(chunkedPost(`2;${'a'.repeat(4094)}\r\n{}\r\n0\r\n\r\n`));
    for (const pieces of [[bytes], bytewise(bytes)]) expect(read(pieces, limits).told).toMatchObject([{ body: '{}' }]);
  });

  it('a body at the limit is read, by length and by chunks', () => {
    const body = 'a'.repeat(50);
    expect(told(sizedPost('50', body), limits)).toMatchObject([{ body }]);
    expect(told(chunkedPost(`1e\r\n${'a'.repeat(30)}\r\n14\r\n${'a'.repeat(20)}\r\n0\r\n\r\n`), limits)).toMatchObject([
      { body },
    ]);
  });

  it('a body over the limit is refused before it comes, by length and by chunks', () => {
    expect(told(sizedPost('51'), limits)).toEqual([413]);
    expect(told(chunkedPost('33\r\n'), limits)).toEqual([413]);
    expect(told(chunkedPost(`1e\r\n${'a'.repeat(30)}\r\n15\r\n`), limits)).toEqual([413]);
    expect(readEachWay(sizedPost('51'), limits).reasons).toEqual(["the request's body is over 50 bytes"]);
  });

  it('bodies of several requests are counted one by one', () => {
    const one = sizedPost('50', 'a'.repeat(50));
    const other = chunkedPost(`32\r\n${'a'.repeat(50)}\r\n0\r\n\r\n`);
    expect(told(one + other + one + other, limits)).toHaveLength(4);
  });

  it('a burst of requests is not mistaken for a big head, in pieces of any size', () => {
    const burst = Buffer.from(sizedPost('5000', 'b'.repeat(5000)).repeat(200));
    for (const size of [1000, 4096, 65_536, burst.length]) {
      const pieces = Array.from({ length: Math.ceil(burst.length / size) }, (_, n) =>
        burst.subarray(n * size, (n + 1) * size),
      );
      const { told, midRequest } = read(pieces, { maxHeadBytes: 256, maxBodyBytes: 5000 });
      expect(midRequest).toBe(false);
      expect(told).toHaveLength(200);
      expect(new Set(told.map((one) => typeof one === 'object' && String(one.body).length))).toEqual(new Set([5000]));
    }
  });

  it('a line of blanks is refused or read before a quadratic pattern sees it', () => {
    // A trailer of 60,000 blanks kept http-parser-js busy for 1.7 s.
    const blanks = ' '.repeat(60_000);
    const wide: ParserLimits = { maxHeadBytes: 65_536, maxBodyBytes: 50 };
    expect(read([Buffer.from(`GET / HTTP/1.1\r\nX:${blanks}\r\n\r\n`)], wide).told).toMatchObject([
      { headers: { x: '' } },
    ]);
    expect(read([Buffer.from(chunkedPost(`0\r\nX: 1\r\n${blanks}\r\n\r\n`))], wide).told).toEqual([400]);
    expect(read([Buffer.from(chunkedPost(`0${blanks.slice(0, 4000)}x\r\n`))], wide).told).toEqual([400]);
  });
});

describe('midRequest', () => {
  it('is true from the first byte of a request to its last but one, and never in between', () => {
    for (const request of [sizedPost('2', '{}'), chunkedPost('2\r\n{}\r\n0\r\nX-A: 1\r\n\r\n'), GET]) {
      const pieces = bytewise(Buffer.from(`\r\n${request}`));
      const marks = pieces.map((_, n) => (read(pieces.slice(0, n + 1), LIMITS).midRequest ? 'x' : '.')).join('');
      expect(marks).toBe(`..${'x'.repeat(request.length - 1)}.`);
    }
  });

  it('is false after a refusal', () => {
    expect(read([Buffer.from(`${POST}nonsense\r\n`)], LIMITS).midRequest).toBe(false);
  });
});
