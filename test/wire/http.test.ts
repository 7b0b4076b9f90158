import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Answer, headerOf, readAnswer } from '../support/http.js';
import { type Served, serve } from '../support/server.js';
import { post, type Witness, witness, witnessed } from '../support/witness.js';

/** HTTP/1.1 at real sockets: connections that are used again, and all that isn't a request for an answer. */
const PATH = '/v1/chat/completions';
const CLOSE = { Connection: 'close' };
const ask = (body: unknown = {}, headers: Record<string, string> = {}): string => post(PATH, body, headers);

function answersIn(bytes: Buffer): Answer[] {
  const answers: Answer[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const answer = readAnswer(rest);
    if (!answer) break;
    answers.push(answer);
    rest = answer.rest;
  }
  return answers;
}

/** Waits for `count` whole answers. */
async function answers(client: Witness, count: number): Promise<Answer[]> {
  const bytes = await client.until(
    (received) => answersIn(received).filter(({ complete }) => complete).length >= count,
  );
  return answersIn(bytes);
}

/** The one answer to bytes on a connection of their own, and how the connection ended. */
async function only(server: Served, request: string | Buffer): Promise<Answer & { end: string }> {
  const { bytes, end } = await witnessed(server.port, request);
  const [answer, ...more] = answersIn(bytes);
  if (!answer || more.length > 0) throw new Error(`${more.length} answers in ${JSON.stringify(bytes.toString())}`);
  return { ...answer, end };
}

const json = (answer: Answer | undefined): unknown => JSON.parse(String(answer?.body));
const statuses = (all: readonly Answer[]): number[] => all.map(({ status }) => status);
const rejections = (server: Served): object[] => server.events.filter(({ type }) => type === 'rejected');

/** The script is where it was: nothing was recorded, and a proper request is the first. */
async function expectUntouched(server: Served): Promise<void> {
  expect(server.requests).toEqual([]);
  const answer = await only(server, ask({}, { ...CLOSE, Authorization: 'Bearer sk-right' }));
  expect(answer).toMatchObject({ status: 429, complete: true, end: 'fin' });
  expect(server.requests).toMatchObject([{ attempt: 1, behavior: 'rate_limit' }]);
}

describe('one connection, many requests', () => {
  it('is kept alive between requests', async () => {
    const server = await serve({ sequence: ['success', 'rate_limit', 'empty_body', 'max_tokens'] });
    const client = witness(server.port);
    const wanted = [200, 429, 200, 200];
    for (let n = 1; n <= wanted.length; n++) {
      client.send(ask({ stream: n % 2 === 1 }));
      expect(statuses(await answers(client, n))).toEqual(wanted.slice(0, n));
    }
    expect(answersIn(client.received).map((answer) => headerOf(answer, 'connection'))).toEqual(
      wanted.map(() => 'keep-alive'),
    );
    client.send(ask({}, CLOSE));
    expect(await client.ended).toBe('fin');
    expect(json(answersIn(client.received).at(-1))).toMatchObject({ error: { code: 'MOCK_SCRIPT_EXHAUSTED' } });
    expect(server.requests.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, 'completed'],
      [2, 'completed'],
      [3, 'completed'],
      [4, 'completed'],
      [5, 'server_error'],
    ]);
  });

  it('answers pipelined requests one after the other, slow ones too', async () => {
    const server = await serve({ sequence: ['slow_success', 'rate_limit', 'success', 'empty_body'], chunkDelayMs: 5 });
    const client = witness(server.port);
    client.send(ask({ stream: true }) + ask({ stream: true }) + ask() + ask({ stream: true }, CLOSE));
    expect(await client.ended).toBe('fin');
    const all = answersIn(client.received);
    expect(all.map(({ status, complete, chunks }) => [status, complete, chunks.length])).toEqual([
      [200, true, 6],
      [429, true, 0],
      [200, true, 0],
      [200, true, 0],
    ]);
    expect(json(all[2])).toMatchObject({ object: 'chat.completion' });
    // Each is taken from the script when its turn comes.
    const order = server.events.flatMap((event) =>
      event.type === 'request' || event.type === 'result' ? `${event.type} ${event.attempt}` : [],
    );
    expect(order).toEqual([1, 2, 3, 4].flatMap((n) => [`request ${n}`, `result ${n}`]));
  });

  it('answers requests with one head in their order, alone, several at once, and behind one that goes on', async () => {
    const server = await serve({
      sequence: [...Array(7).fill('success'), 'slow_success', 'success'],
      repeatLast: true,
    });
    const client = witness(server.port);
    const models: string[] = [];
    const next = (model: string): string => {
      models.push(model);
      return ask({ model });
    };
    for (const model of ['a', 'b', 'b', 'b']) {
      client.send(next(model));
      await answers(client, models.length);
    }
    client.send(next('c') + next('d') + next('b'));
    await answers(client, models.length);
    client.send(next('e'));
    await server.event((event) => event.type === 'request' && event.attempt === 8);
    client.send(next('f'));
    const all = await answers(client, models.length);
    expect(all.map(json)).toEqual(models.map((model) => expect.objectContaining({ model })));
    const bodies = server.requests.map(({ body }) => body);
    expect(bodies).toEqual(models.map((model) => ({ model })));
    // What came before is there once.
    const [, , second, third, , , last] = bodies;
    expect([third, last]).toEqual([second, second]);
    expect(third === second && last === second && Object.isFrozen(second)).toBe(true);
  });

  it('answers more pipelined requests than it reads ahead', async () => {
    const server = await serve();
    const client = witness(server.port);
    const models = Array.from({ length: 200 }, (_, n) => `model-${n}`);
    client.send(models.map((model) => ask({ model, padding: 'p'.repeat(5000) })).join(''));
    const all = await answers(client, models.length);
    expect(all.map(json)).toEqual(models.map((model) => expect.objectContaining({ model })));
  });

  it('answers a pipelined request and a refusal of what follows it, in this order', async () => {
    const server = await serve({ sequence: ['slow_success'], chunkDelayMs: 5 });
    const { bytes, end } = await witnessed(server.port, `${ask({ stream: true })}nonsense\r\n\r\n${ask()}`);
    expect(end).toBe('fin');
    expect(answersIn(bytes).map(({ status, complete }) => [status, complete])).toEqual([
      [200, true],
      [400, true],
    ]);
    expect(server.requests).toMatchObject([{ attempt: 1, outcome: 'completed' }]);
  });

  it('forgets what was pipelined behind a reset', async () => {
    const server = await serve({ sequence: ['connection_reset', 'success'] });
    const { bytes, end } = await witnessed(server.port, ask() + ask());
    expect({ bytes: bytes.length, end }).toEqual({ bytes: 0, end: 'rst' });
    expect(server.requests).toMatchObject([{ attempt: 1, outcome: 'reset' }]);
  });

  for (const [name, request] of Object.entries({
    'Connection: close': ask({}, CLOSE),
    'HTTP/1.0': ask().replace('HTTP/1.1', 'HTTP/1.0'),
    'HTTP/1.0 with keep-alive': ask({}, { Connection: 'keep-alive' }).replace('HTTP/1.1', 'HTTP/1.0'),
    'HTTP/1.0 with keep-alive, streamed': ask({ stream: true }, { Connection: 'keep-alive' }).replace('/1.1', '/1.0'),
  })) {
    it(`ends after one answer: ${name}`, async () => {
      const server = await serve();
      const { bytes, end } = await witnessed(server.port, request + ask());
      expect(end).toBe('fin');
      const [answer, ...more] = answersIn(bytes);
      expect(more).toEqual([]);
      expect(answer && headerOf(answer, 'connection')).toBe('close');
      expect(answer && headerOf(answer, 'transfer-encoding')).toBeUndefined();
      expect(server.requests).toHaveLength(1);
    });
  }

  it('a request in single bytes is a request', async () => {
    const server = await serve();
    const client = witness(server.port);
    for (const byte of Buffer.from(ask({ stream: true, text: 'é😀' }))) client.send(Buffer.of(byte));
    expect(await answers(client, 1)).toMatchObject([{ status: 200 }]);
    expect(server.requests).toMatchObject([{ body: { stream: true, text: 'é😀' } }]);
  });

  it('a chunked request with an h2c upgrade offer is answered in HTTP/1.1', async () => {
    const server = await serve();
    const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
    const client = witness(server.port);
    client.send(
      `POST ${PATH} HTTP/1.1\r\n${offer}Transfer-Encoding: chunked\r\n\r\n6\r\n{"a":1\r\n1\r\n}\r\n0\r\n\r\n`,
    );
    expect(await answers(client, 1)).toMatchObject([{ status: 200 }]);
    expect(server.requests).toMatchObject([{ body: { a: 1 } }]);
  });

  it('a target in absolute form is its path', async () => {
    const server = await serve();
    expect(await only(server, post(`http://api.example${PATH}?a=1`, {}, CLOSE))).toMatchObject({ status: 200 });
  });
});

describe('a client that has sent all it will', () => {
  it('gets its whole answer', async () => {
    const server = await serve({ sequence: ['slow_success'], chunkDelayMs: 5 });
    const client = witness(server.port);
    client.send(ask({ stream: true }));
    client.halfClose();
    expect(await client.ended).toBe('fin');
    expect(answersIn(client.received)).toMatchObject([{ status: 200, complete: true }]);
    expect(server.requests).toMatchObject([{ outcome: 'completed', chunksSent: 6 }]);
  });

  it('gets all the answers to what it has pipelined', async () => {
    const server = await serve();
    const client = witness(server.port);
    client.send(ask().repeat(30));
    client.halfClose();
    expect(await client.ended).toBe('fin');
    expect(statuses(answersIn(client.received))).toEqual(Array.from({ length: 30 }, () => 200));
  });

  it('is not kept waiting by a stall that begins after its end', async () => {
    const server = await serve({ sequence: ['slow_success', 'stall', 'success'], chunkDelayMs: 5 });
    const client = witness(server.port);
    client.send(ask({ stream: true }).repeat(3));
    client.halfClose();
    expect(await client.ended).toBe('fin');
    expect(answersIn(client.received)).toMatchObject([
      { status: 200, complete: true },
      { status: 200, complete: false },
    ]);
    expect(server.requests).toMatchObject([{ outcome: 'completed' }, { outcome: 'stalled' }]);
  });

  it('is seen to go behind a stall, however much it has pipelined', async () => {
    const server = await serve({ sequence: ['stall', 'success'] });
    const client = witness(server.port);
    client.send(ask({ padding: 'p'.repeat(5000) }).repeat(100));
    await client.until((received) => received.includes('\r\n\r\n'));
    client.halfClose();
    expect(await client.ended).toBe('fin');
    expect(server.requests).toMatchObject([{ outcome: 'stalled' }]);
  });

  it('is told so where its request has no end', async () => {
    const server = await serve();
    const client = witness(server.port);
    client.send(ask({ a: 1 }).slice(0, -1));
    client.halfClose();
    expect(await client.ended).toBe('fin');
    const [answer] = answersIn(client.received);
    expect(answer).toMatchObject({ status: 400, complete: true });
    expect(json(answer)).toMatchObject({ error: { message: 'the connection ended inside a request' } });
  });

  it('gets an end, and nothing else, where it has sent nothing', async () => {
    const server = await serve();
    const client = witness(server.port);
    client.send('\r\n');
    client.halfClose();
    expect(await client.ended).toBe('fin');
    expect(client.received.length).toBe(0);
    expect(rejections(server)).toEqual([]);
  });
});

describe('Expect: 100-continue', () => {
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
  const [head = '', body = ''] = ask({ a: 1 }, { Expect: '100-continue' }).split(/(?<=\r\n\r\n)/);

  it('the 100 comes before the body is sent', async () => {
    const server = await serve();
    const client = witness(server.port);
    client.send(head);
    expect((await client.until((received) => received.length >= CONTINUE.length)).toString()).toBe(CONTINUE);
    expect(server.requests).toEqual([]);
    client.send(body);
    expect(statuses(await answers(client, 2))).toEqual([100, 200]);
    expect(server.requests).toMatchObject([{ body: { a: 1 } }]);
  });

  it('the 100 comes after the answer to the request before it', async () => {
    const server = await serve({ sequence: ['slow_success', 'rate_limit'], chunkDelayMs: 5 });
    const client = witness(server.port);
    client.send(ask({ stream: true }) + head);
    const [first, second] = await answers(client, 2);
    expect([first?.status, first?.chunks.length, second?.status]).toEqual([200, 6, 100]);
    client.send(body);
    expect(statuses(await answers(client, 3))).toEqual([200, 100, 429]);
  });

  it('the 100 is left out where the body is there already', async () => {
    const server = await serve();
    const client = witness(server.port);
    client.send(head + body);
    expect(statuses(await answers(client, 1))).toEqual([200]);
  });

  it('a body that is too large is refused instead', async () => {
    const server = await serve({ maxBodyBytes: 6 });
    expect(await only(server, head)).toMatchObject({ status: 413, complete: true, end: 'fin' });
  });
});

describe('what is no request for an answer', () => {
  /** Closed by the client's wish, with the reason in the body, the event and the status. */
  const ROWS: Record<string, readonly [request: string, status: number, reason: RegExp]> = {
    'an unknown path': [post('/v1/embeddings', {}, CLOSE), 404, /no such path: \/v1\/embeddings/],
    'a path that is nearly right': [
      post('/v1/chat/completion', {}, CLOSE),
      404,
      /did you mean "\/v1\/chat\/completions"/,
    ],
    GET: [`GET ${PATH} HTTP/1.1\r\nConnection: close\r\n\r\n`, 405, /GET .*POST/],
    PUT: [ask({}, CLOSE).replace('POST', 'PUT'), 405, /PUT .*POST/],
    'no key': [ask({}, CLOSE), 401, /no API key/],
    'an empty key': [ask({}, { ...CLOSE, Authorization: 'Bearer ' }), 401, /API key/],
    'a wrong key': [ask({}, { ...CLOSE, Authorization: 'Bearer sk-wrong' }), 401, /Incorrect API key/],
    'a key that is longer': [ask({}, { ...CLOSE, Authorization: 'Bearer sk-right1' }), 401, /Incorrect API key/],
    'a key without its scheme': [ask({}, { ...CLOSE, Authorization: 'sk-right' }), 401, /no API key/],
    'a body that is no JSON': [ask('{nope', { ...CLOSE, Authorization: 'Bearer sk-right' }), 400, /not JSON/],
    'a body of JSON that is no object': [
      ask('[]', { ...CLOSE, Authorization: 'Bearer sk-right' }),
      400,
      /not an object/,
    ],
    'a body that is null': [ask('null', { ...CLOSE, Authorization: 'Bearer sk-right' }), 400, /not an object/],
  };
  for (const [name, [request, status, reason]] of Object.entries(ROWS)) {
    it(`${name}: ${status}, and the script waits`, async () => {
      const server = await serve({ apiKey: 'sk-right', sequence: ['rate_limit'] });
      const answer = await only(server, request);
      expect(answer).toMatchObject({ status, complete: true, end: 'fin' });
      expect(headerOf(answer, 'content-type')).toMatch(/^application\/json/);
      expect(headerOf(answer, 'connection')).toBe('close');
      expect(json(answer)).toMatchObject({ error: { message: expect.stringMatching(reason) } });
      expect(headerOf(answer, 'allow')).toEqual(status === 405 ? expect.stringContaining('POST') : undefined);
      expect(rejections(server)).toMatchObject([
        { status, reason: expect.stringMatching(reason), path: /\S+ (\S+)/.exec(request)?.[1] },
      ]);
      await expectUntouched(server);
    });
  }

  it('a 404 lists what exists', async () => {
    const server = await serve();
    const answer = await only(server, post('/nowhere', {}, CLOSE));
    expect(json(answer)).toMatchObject({ error: { known: expect.arrayContaining([`POST ${PATH}`]) } });
  });

  it('the connection lives on after each of them', async () => {
    const server = await serve({ apiKey: 'sk-right', sequence: ['rate_limit'] });
    const client = witness(server.port);
    const right = { Authorization: 'Bearer sk-right' };
    client.send(`${post('/nowhere', {}) + ask() + ask('{nope', right)}GET ${PATH} HTTP/1.1\r\n\r\n${ask({}, right)}`);
    const all = await answers(client, 5);
    expect(statuses(all)).toEqual([404, 401, 400, 405, 429]);
    expect(all.map((answer) => headerOf(answer, 'connection'))).toEqual(all.map(() => 'keep-alive'));
    expect(rejections(server)).toHaveLength(4);
    expect(server.requests).toMatchObject([{ attempt: 1 }]);
  });

  it('OPTIONS: 204 with Allow, and neither a body nor a length', async () => {
    const server = await serve({ apiKey: 'sk-right', sequence: ['rate_limit'] });
    const client = witness(server.port);
    client.send(`OPTIONS ${PATH} HTTP/1.1\r\n\r\n`);
    const [answer] = await answers(client, 1);
    expect(answer).toMatchObject({ status: 204, rest: Buffer.alloc(0) });
    expect(answer && headerOf(answer, 'allow')).toMatch(/\bPOST\b.*\bOPTIONS\b/);
    expect(answer && headerOf(answer, 'content-length')).toBeUndefined();
    client.send(`OPTIONS ${PATH} HTTP/1.1\r\nConnection: close\r\n\r\n`);
    expect(await client.ended).toBe('fin');
    expect(statuses(answersIn(client.received))).toEqual([204, 204]);
    expect(rejections(server)).toEqual([]);
    await expectUntouched(server);
  });

  for (const [path, status] of [
    [PATH, 405],
    ['/nowhere', 404],
  ] as const) {
    it(`HEAD ${path}: the head of a ${status}, and the next answer right behind it`, async () => {
      const server = await serve({ apiKey: 'sk-right', sequence: ['rate_limit'] });
      const { bytes } = await witnessed(
        server.port,
        `HEAD ${path} HTTP/1.1\r\n\r\nOPTIONS ${PATH} HTTP/1.1\r\nConnection: close\r\n\r\n`,
      );
      const [head = '', next = ''] = bytes.toString('latin1').split(/(?<=\r\n\r\n)/);
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(head).toMatch(/\r\nContent-Length: [1-9]\d*\r\n/);
      expect(next).toMatch(/^HTTP\/1\.1 204 /);
      await expectUntouched(server);
    });
  }

  it('the right key is accepted, whatever the case of its scheme', async () => {
    const server = await serve({ apiKey: 'sk-right' });
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      expect(await only(server, ask({}, { ...CLOSE, Authorization: `${scheme} sk-right` }))).toMatchObject({
        status: 200,
      });
    }
    expect(server.requests).toHaveLength(3);
  });

  it('without a key of the server, any will do', async () => {
    const server = await serve();
    expect(await only(server, ask({}, { ...CLOSE, Authorization: 'Bearer sk-any' }))).toMatchObject({ status: 200 });
    expect(await only(server, ask({}, CLOSE))).toMatchObject({ status: 200 });
  });

  it('an empty body is a request that is silent about everything', async () => {
    const server = await serve();
    expect(await only(server, ask('', CLOSE))).toMatchObject({ status: 200, complete: true });
    expect(await only(server, `POST ${PATH} HTTP/1.1\r\nConnection: close\r\n\r\n`)).toMatchObject({ status: 200 });
    expect(server.requests).toMatchObject([{ body: {} }, { body: {} }]);
  });
});

describe('bytes that are no request', () => {
  const LIMITS = { maxHeadBytes: 300, maxBodyBytes: 1000, sequence: ['rate_limit'] } as const;
  const head = (lines: string): string => `POST ${PATH} HTTP/1.1\r\nHost: x\r\n${lines}\r\n`;
  const ROWS: Record<string, readonly [request: string | Buffer, status: number, reason: RegExp]> = {
    nonsense: ['nonsense\r\n\r\n', 400, /"nonsense" is not an HTTP\/1\.1 request line/],
    'a TLS ClientHello, which has no line to its end': [
      Buffer.from('1603010200010001fc0303', 'hex'),
      400,
      /TLS.*http:/,
    ],
    'an HTTP/2 preface': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505, /HTTP\/2/],
    'an unknown method': ['BREW / HTTP/1.1\r\n\r\n', 501, /BREW/],
    'an encoded body': [head('Transfer-Encoding: gzip\r\n'), 501, /gzip/],
    'two lengths': [head('Transfer-Encoding: chunked\r\nContent-Length: 2\r\n'), 400, /both/],
    'a chunk without a size': [`${head('Transfer-Encoding: chunked\r\n')}zz\r\n`, 400, /"zz"/],
    'a head that is too long': [head(`X: ${'x'.repeat(300)}\r\n`), 431, /over 300 bytes/],
    'a head without an end': [`GET /${'x'.repeat(300)}`, 431, /over 300 bytes/],
    'a length that is too large': [head('Content-Length: 1001\r\n'), 413, /over 1000 bytes/],
    'a chunk that is too large': [`${head('Transfer-Encoding: chunked\r\n')}3e9\r\n`, 413, /over 1000 bytes/],
  };
  for (const [name, [request, status, reason]] of Object.entries(ROWS)) {
    it(`${name}: ${status}, then a close, and the script waits`, async () => {
      const server = await serve(LIMITS);
      const answer = await only(server, request);
      expect(answer).toMatchObject({ status, complete: true, end: 'fin' });
      expect(headerOf(answer, 'content-type')).toBe('application/json');
      expect(headerOf(answer, 'connection')).toBe('close');
      expect(json(answer)).toMatchObject({
        error: { type: 'wirefault_error', message: expect.stringMatching(reason) },
      });
      expect(rejections(server)).toMatchObject([{ status, reason: expect.stringMatching(reason) }]);
      await expectUntouched(server);
    });
  }

  for (const [name, request] of Object.entries({
    'in its head': `POST ${PATH} HTTP/1.1\r\nHost`,
    'in its body': ask({ a: 1 }).slice(0, -1),
    'in its chunks': `${head('Transfer-Encoding: chunked\r\n')}5\r\nhel`,
    'behind another request': `${post('/nowhere', {})}POST`,
  })) {
    it(`a request that stops ${name}: 408, then a close`, async () => {
      const server = await serve({ sequence: ['rate_limit'], requestTimeoutMs: 30 });
      const { bytes, end } = await witnessed(server.port, request);
      const answer = answersIn(bytes).at(-1);
      expect(end).toBe('fin');
      expect(answer).toMatchObject({ status: 408, complete: true });
      expect(json(answer)).toMatchObject({ error: { message: 'the request was not complete after 30 ms' } });
      expect(rejections(server).at(-1)).toMatchObject({ status: 408 });
      await expectUntouched(server);
    });
  }

  it('a connection between requests has all the time it wants', async () => {
    const server = await serve({ requestTimeoutMs: 30 });
    const [idle, blank, used] = [witness(server.port), witness(server.port), witness(server.port)];
    blank.send('\r\n');
    used.send(ask());
    await answers(used, 1);
    await Promise.all([idle.connected, blank.connected]);
    // A request that began later has its time-out later than theirs would be.
    expect(await only(server, 'POST')).toMatchObject({ status: 408 });
    for (const client of [idle, blank, used]) {
      client.send(ask({}, CLOSE));
      expect(await client.ended).toBe('fin');
      expect(statuses(answersIn(client.received)).at(-1)).toBe(200);
    }
  });

  it('a client that reads only when all of its large body is sent still reads the 413', async () => {
    const server = await serve(LIMITS);
    const socket = net.connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.pause();
    const body = Buffer.alloc(32 * 1024 * 1024, 'x');
    socket.write(head(`Content-Length: ${body.length}\r\n`));
    const error = await new Promise((resolve) => socket.write(body, resolve));
    expect(error ?? undefined).toBeUndefined();
    const received: Buffer[] = [];
    const end = await new Promise((resolve) => {
      socket.on('data', (bytes: Buffer) => received.push(bytes));
      socket.on('end', () => resolve('fin'));
      socket.on('error', resolve);
      socket.resume();
    });
    socket.destroy();
    expect(end).toBe('fin');
    expect(answersIn(Buffer.concat(received))).toMatchObject([{ status: 413, complete: true }]);
  });

  it('no more than one refusal is told of a connection, however much nonsense comes', async () => {
    const server = await serve(LIMITS);
    expect(await only(server, 'nonsense\r\n\r\n'.repeat(10_000))).toMatchObject({ status: 400, end: 'fin' });
    expect(rejections(server)).toHaveLength(1);
  });
});

describe('the end of the script', () => {
  it('is a 500 MOCK_SCRIPT_EXHAUSTED, again and again', async () => {
    const server = await serve({ sequence: ['success'] });
    const client = witness(server.port);
    client.send(ask().repeat(3));
    const all = await answers(client, 3);
    expect(statuses(all)).toEqual([200, 500, 500]);
    expect(json(all[2])).toMatchObject({ error: { code: 'MOCK_SCRIPT_EXHAUSTED', message: 'mock script exhausted' } });
    expect(server.requests.map(({ attempt, behavior }) => [attempt, behavior])).toEqual([
      [1, 'success'],
      [2, 'script_exhausted'],
      [3, 'script_exhausted'],
    ]);
  });

  it('is the last behavior again, with repeatLast', async () => {
    const server = await serve({ sequence: ['success', 'rate_limit'], repeatLast: true });
    const client = witness(server.port);
    client.send(ask().repeat(4));
    expect(statuses(await answers(client, 4))).toEqual([200, 429, 429, 429]);
  });
});

it('closing the server ends connections in whatever state they are', async () => {
  const server = await serve({ sequence: ['stall'], repeatLast: true });
  const starts = ['', '\r\n', 'POST', ask({ a: 1 }).slice(0, -1), ask({}, { Expect: '100-continue' }).slice(0, -2)];
  const idle = starts.map((start) => {
    const client = witness(server.port);
    client.send(start);
    return client;
  });
  const stalled = [ask(), ask().repeat(100)].map((requests) => {
    const client = witness(server.port);
    client.send(requests);
    return client;
  });
  await Promise.all(idle.map(({ connected }) => connected));
  await Promise.all(stalled.map((client) => client.until((received) => received.includes('\r\n\r\n'))));
  await server.close();
  await Promise.all(
    [...idle, ...stalled].map(async (client) => expect(await client.ended).not.toBe('closed_by_witness')),
  );
  expect(server.requests).toMatchObject([{ outcome: 'stalled' }, { outcome: 'stalled' }]);
});
