import type { Client, Dispatcher } from 'undici';
import { errnoOf, messageOf, WirefaultError } from '../errors.js';
import type { Protocol } from '../sse/dialect.js';
import { type AnswerFacts, type AnswerTally, answerReader } from './answer-reader.js';
import { type ConnectOptions, connecting, timedOut } from './connect.js';
import { type BrokenEnd, brokenEnd, connectEnd } from './ends.js';

/** One connection of the load: it asks once at a time, and connects anew where an answer ended the connection. */
export interface AskerOptions extends ConnectOptions {
  readonly url: URL;
  readonly protocol: Protocol;
  readonly stream: boolean;
  readonly body: Buffer;
  readonly headers: readonly (readonly [string, string])[];
  readonly tally: AnswerTally;
}

export interface Asked extends AnswerFacts {
  /** What went wrong, in the words of Node or of undici, where the answer was broken. */
  readonly error: string | undefined;
}

export interface Asker {
  /**
   * Asks once, and never again by itself.
   * @throws WirefaultError `bad_option` where such a request can't be made at all
   */
  ask(): Promise<Asked>;
  /** How many connections were made. */
  readonly connections: number;
  /** What is under way ends as `stopped`. */
  stop(): Promise<void>;
}

export function asker(HttpClient: typeof Client, options: AskerOptions): Asker {
  const { url, protocol, stream, body, timeoutMs, tally } = options;
  const wire = connecting(options);
  // The time limits are ours: undici's are coarse.
  const limits = { headersTimeout: 0, bodyTimeout: 0 };
  const client = new HttpClient(url.origin, { pipelining: 1, connect: wire.connect, ...limits });
  const request: Dispatcher.DispatchOptions = {
    method: 'POST',
    path: `${url.pathname}${url.search}`,
    headers: options.headers.flat(),
    body,
  };
  let stopped = false;

  const ask = (): Promise<Asked> =>
    new Promise((resolve, reject) => {
      const reader = answerReader({ protocol, stream, startMs: performance.now(), tally });
      let controller: Dispatcher.DispatchController | undefined;
      let idle: NodeJS.Timeout | undefined;
      const finish = (broken: BrokenEnd | undefined, error?: string): void => {
        clearTimeout(idle);
        resolve({ ...reader.end(broken, performance.now()), error });
      };
      const brokenBy = (error: unknown): BrokenEnd => (controller ? brokenEnd(error, wire) : connectEnd(error));
      client.dispatch(request, {
        onRequestStart: (its) => {
          controller = its;
          idle = setTimeout(() => its.abort(timedOut(timeoutMs)), timeoutMs);
        },
        onResponseStart: (_, status, headers) => {
          idle?.refresh();
          // Those before the final one say nothing.
          if (status >= 200) reader.head(status, headers['retry-after'] !== undefined, performance.now());
        },
        onResponseData: (_, bytes) => {
          idle?.refresh();
          reader.body(bytes, performance.now());
        },
        // A body that only the connection's end ends can't be told from a whole one, unless the socket failed.
        onResponseEnd: () => finish(wire.errno === undefined ? undefined : 'reset'),
        onResponseError: (_, error) => {
          if (errnoOf(error) === 'UND_ERR_INVALID_ARG') reject(new WirefaultError('bad_option', messageOf(error)));
          else if (stopped) finish('stopped');
          else finish(brokenBy(error), messageOf(error));
        },
      });
    });

  return {
    ask,
    get connections() {
      return wire.made;
    },
    stop: async () => {
      stopped = true;
      wire.stop();
      await client.destroy();
    },
  };
}
