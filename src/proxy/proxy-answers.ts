import type { Socket } from 'node:net';
import type { Material } from '../answers.js';
import type { ServerEvent } from '../events.js';
import type { FaultSpec } from '../fault/spec.js';
import type { Content } from '../fault/words.js';
import type { Request, RequestHead } from '../http/request.js';
import type { Routed } from '../http/routes.js';
import type { Job } from '../net/job.js';
import type { Playback, PlayHooks } from '../net/play.js';
import type { Recording } from '../replay/recording.js';
import type { Protocol } from '../sse/dialect.js';
import { type Came, relay } from './relay.js';
import { requestUp } from './request-up.js';
import type { Upstream } from './upstream.js';

/** Where the answers of a proxy come from: its upstream, asked for each request. */
export interface ProxyAnswers {
  /** A request that the script has a fault for. */
  pass(passed: PassedRequest): PassedAnswer;
  /** Any other request; `undefined`: wirefault answers it itself. */
  beside(request: Request, routed: Routed, material: () => Material): Job | undefined;
}

export interface PassedRequest {
  readonly request: Request;
  readonly protocol: Protocol;
  readonly fault: FaultSpec;
  readonly material: Material;
}

export interface PassedAnswer {
  play(socket: Socket, hooks: PlayHooks): Playback;
  /** What it came to be, once the play has ended. */
  came(): Came | undefined;
}

export interface ProxyAnswersDeps {
  readonly upstream: Upstream;
  readonly content: Content;
  readonly wanted: boolean;
  readonly keepsBytes: boolean;
  /** Stores what the upstream answers. */
  readonly recording: Recording | undefined;
  emit(event: ServerEvent): void;
}

/** What wirefault says itself never reaches an upstream: an error of the provider's, a web page, events of one's own. */
export function isPassed({ answer, cut }: FaultSpec): boolean {
  return (answer === undefined || answer.kind === 'turn') && cut?.at !== 'request';
}

export function proxyAnswers(deps: ProxyAnswersDeps): ProxyAnswers {
  const { upstream, content, wanted, keepsBytes } = deps;
  const { host, basePath, key, decode } = upstream.target;

  function pass({ request, protocol, fault, material }: PassedRequest, as: Protocol | null = protocol): PassedAnswer {
    let came: Came | undefined;
    return {
      play: (socket, hooks) =>
        relay(socket, hooks, {
          upstream,
          request: requestUp(rawOf(request), { host, basePath, key, decode, protocol: as ?? undefined }),
          asked: request,
          fault,
          protocol,
          content,
          material,
          keepAlive: request.keepAlive,
          chunkedAllowed: request.httpVersion === '1.1',
          wanted: wanted && as !== null,
          keepsBytes: keepsBytes && as !== null,
          tap: deps.recording?.begin(request, as),
          onCame: (what) => {
            came = what;
          },
        }),
      came: () => came,
    };
  }

  function beside(request: Request, routed: Routed, material: () => Material): Job | undefined {
    // The key that --api-key sets is asked for here. Nothing but HTTP goes through.
    const refused = routed.kind === 'provider_error' && routed.error === 'auth_error';
    if (refused || request.method === 'CONNECT' || isUpgrade(request)) return undefined;
    const passed = pass({ request, protocol: 'openai-chat', fault: {}, material: material() }, null);
    const { method, path } = request;
    return {
      plan: NO_PLAN,
      play: passed.play,
      onEnd: () => {
        const status = passed.came()?.upstream.status ?? 0;
        deps.emit({ type: 'auxiliary', method, path, status });
      },
    };
  }

  return { pass, beside };
}

const NO_PLAN = { bytes: Buffer.alloc(0), marks: [], steps: [], closes: false, unapplied: [] };

function isUpgrade({ headers }: RequestHead): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

function rawOf({ raw }: Request): Buffer {
  if (!raw) throw new Error('a proxy keeps the bytes of requests');
  return raw;
}
