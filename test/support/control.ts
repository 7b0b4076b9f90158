import { type Answer, readAnswer } from './http.js';
import { type Witness, witness } from './witness.js';

/** A raw client of the control plane: it says exactly what a test tells it to. */
export interface Asking {
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly host?: string;
}

/** The text of a control request: `line` is a method and a target. What isn't text of a body is written as JSON. */
export function controlText(port: number, line: string, { headers = {}, body, host }: Asking = {}): string {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const length = text === '' ? {} : { 'Content-Length': String(Buffer.byteLength(text)) };
  const all = { Host: `${host ?? '127.0.0.1'}:${port}`, ...length, ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}\r\n`]));
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${text}`;
}

/** One control request on a connection of its own, and its whole answer. */
export async function control(port: number, line: string, asking: Asking = {}): Promise<Answer> {
  const client = witness(port, asking.host);
  client.send(controlText(port, line, { ...asking, headers: { Connection: 'close', ...asking.headers } }));
  await client.ended;
  const answer = readAnswer(client.received);
  if (!answer?.complete) throw new Error(`no whole answer: ${client.received.toString('latin1')}`);
  return answer;
}

/** As `control`, of an answer in JSON. */
export async function controlJson<T = Readonly<Record<string, unknown>>>(
  port: number,
  line: string,
  asking: Asking = {},
): Promise<{ readonly status: number; readonly json: T }> {
  const { status, body } = await control(port, line, asking);
  return { status, json: JSON.parse(body.toString()) };
}

/** The exchanges of one client that keeps its connection: each `ask` waits for the whole answer. */
export interface Keeper {
  ask(request: string): Promise<Answer>;
  readonly client: Witness;
}

export function keeper(port: number, host?: string): Keeper {
  const client = witness(port, host);
  let read = 0;
  return {
    client,
    ask: async (request) => {
      client.send(request);
      const answerIn = (bytes: Buffer): Answer | undefined => {
        const answer = readAnswer(bytes.subarray(read));
        return answer?.complete ? answer : undefined;
      };
      const answer = answerIn(await client.until((bytes) => answerIn(bytes) !== undefined));
      if (!answer) throw new Error('an answer that was there is gone');
      read = client.received.length - answer.rest.length;
      return answer;
    },
  };
}
