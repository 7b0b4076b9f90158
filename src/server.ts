import { answersOf } from './answers.js';
import { messageOf, WirefaultError } from './errors.js';
import type { Concrete, Outcome, RequestRecord, Scripted, ServerEvent } from './events.js';
import { select } from './fault/script.js';
import type { WirePlan } from './fault/wire-plan.js';
import { errorReply, replyPlan } from './http/reply.js';
import type { Request } from './http/request.js';
import { type Routed, route } from './http/routes.js';
import { type Connection, type Job, serveConnection } from './net/connection.js';
import { bracketed, listen } from './net/listener.js';
import type { PlayEnd } from './net/player.js';
import { type GivenOptions, type Naming, resolveOptions } from './options.js';
import { eventsFlushed } from './proof/recorder.js';
import { VERSION } from './version.js';

/**
 * The straight line, wired together:
 *
 *   socket ─▶ http/request-parser ─▶ route ─▶ fault/script: select ─▶ answers: compile, stamp ─▶ net/player ─▶ socket
 */

export interface FaultServerOptions extends GivenOptions {
  /** Called for each event as it happens. What it throws changes nothing. */
  readonly onEvent?: (event: ServerEvent) => void;
  /** Accepted requests kept in `requests`, the newest ones. Default 10,000. */
  readonly requestHistory?: number;
}

export interface FaultServer {
  /** Without `/v1`, and with IPv6 in brackets: `http://127.0.0.1:8000`. */
  readonly baseURL: string;
  readonly port: number;
  /** The seed of `random` and of the answers' ids, given or generated. */
  readonly randomSeed: number;
  /** Accepted requests in the order of their arrival, live; the newest `requestHistory` of them. */
  readonly requests: readonly RequestRecord[];
  /** Accepted requests that `requests` no longer holds. */
  readonly droppedRequests: number;
  /** Resolves when the port accepts connections: at once, or at the end of a refusal window. */
  whenListening(): Promise<void>;
  /** Stops listening and ends all connections, stalled ones too. May be called again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const DEFAULT_REQUEST_HISTORY = 10_000;

/** One shared cursor in arrival order, for now. */
const LANE = 'default';

/**
 * Starts a fault server. Resolves once the port is bound; if the sequence begins with `connection_refused` the port
 * is then refusing, and `whenListening()` tells when that ends.
 * @throws WirefaultError `bad_option`, `bad_script`, `port_in_use` or `listen_failed`
 */
export function startFaultServer(options: FaultServerOptions = {}): Promise<FaultServer> {
  return startNamed(options, (name) => name);
}

/** As `startFaultServer`, with options called as the caller's user knows them. */
export async function startNamed(given: FaultServerOptions, naming: Naming): Promise<FaultServer> {
  const { onEvent, requestHistory = DEFAULT_REQUEST_HISTORY, ...rest } = given;
  if (!Number.isSafeInteger(requestHistory) || requestHistory < 0) {
    const message = `requestHistory: ${JSON.stringify(requestHistory)} is not allowed; expected a whole number of at least 0`;
    throw new WirefaultError('bad_option', message);
  }
  const options = resolveOptions(rest, naming);
  const emit = (event: ServerEvent): void => notify(onEvent, event);
  const { script } = options;

  const connections = new Set<Connection>();
  const gone = new Set<Promise<void>>();
  const requests: RequestRecord[] = [];
  let droppedRequests = 0;
  let attempts = 0;
  const answers = answersOf(options);

  function handle(request: Request): Job {
    const routed = route(request, options);
    const { keepAlive, method, path } = request;
    switch (routed.kind) {
      case 'turn':
        return exchange(request, routed);
      case 'provider_error': {
        const reply = answers.error(routed.error, routed.reason, routed.protocol);
        emit({ type: 'rejected', status: reply.status, reason: routed.reason, path });
        return { plan: replyPlan(reply, { keepAlive }) };
      }
      case 'auxiliary':
        emit({ type: 'auxiliary', method, path, status: routed.reply.status });
        return { plan: replyPlan(routed.reply, { keepAlive, headOnly: method === 'HEAD' }) };
      case 'refused':
        emit({ type: 'rejected', status: routed.reply.status, reason: routed.reason, path });
        return { plan: replyPlan(routed.reply, { keepAlive, headOnly: method === 'HEAD' }) };
      default:
        return routed satisfies never;
    }
  }

  function exchange(request: Request, routed: Routed & { kind: 'turn' }): Job {
    const selection = select(script, LANE, ++attempts);
    const named: { scriptBehavior: Scripted; behavior: Concrete } =
      selection.kind === 'behavior'
        ? { scriptBehavior: selection.scripted, behavior: selection.behavior }
        : { scriptBehavior: 'script_exhausted', behavior: 'script_exhausted' };
    const record: RequestRecord = {
      attempt: selection.attempt,
      ...named,
      path: request.path,
      headers: request.headers,
      body: routed.body,
      chunksSent: 0,
    };
    keep(record);
    const told = { attempt: record.attempt, ...named, path: record.path };
    emit({ type: 'request', ...told });

    let failed = selection.kind === 'exhausted';
    let plan: WirePlan;
    try {
      plan =
        selection.kind === 'behavior'
          ? answers.plan(selection, routed.protocol, routed.body, request)
          : replyPlan(errorReply(500, 'MOCK_SCRIPT_EXHAUSTED', 'mock script exhausted'), request);
    } catch (thrown) {
      failed = true;
      plan = replyPlan(errorReply(500, 'PLAN_IMPOSSIBLE', messageOf(thrown)), request);
    }
    return {
      plan,
      onLast: () => {
        const refusals = selection.kind === 'behavior' ? selection.refusals : 0;
        for (let n = 0; n < refusals; n++) listener.refuse(options.listenDelayMs);
      },
      onEnd: (end) => {
        record.chunksSent = eventsFlushed(plan, end.flushedBytes);
        record.outcome = failed ? 'server_error' : outcomeOf(end);
        emit({ type: 'result', ...told, outcome: record.outcome, chunksSent: record.chunksSent });
      },
    };
  }

  function keep(record: RequestRecord): void {
    requests.push(record);
    if (requests.length <= requestHistory) return;
    requests.shift();
    droppedRequests++;
  }

  let baseURL = '';
  let ready = false;
  const listener = await listen(
    { ...options, refuseFirstMs: script.leadingRefusals * options.listenDelayMs },
    {
      onConnection: (socket) => {
        const connection = serveConnection(socket, {
          limits: options,
          requestTimeoutMs: options.requestTimeoutMs,
          handle,
          onBad: (bad) => emit({ type: 'rejected', ...bad }),
        });
        connections.add(connection);
        const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
        gone.add(closed);
        closed.then(() => {
          connections.delete(connection);
          gone.delete(closed);
        });
      },
      onBound: ({ port }) => {
        baseURL = `http://${bracketed(options.host)}:${port}`;
      },
      onRefusing: (delayMs) => emit({ type: 'unavailable', baseURL: `${baseURL}/v1`, delayMs }),
      onListening: () => {
        if (ready) return emit({ type: 'available', baseURL: `${baseURL}/v1` });
        ready = true;
        emit({ type: 'ready', baseURL: `${baseURL}/v1`, randomSeed: script.seed, version: VERSION });
      },
      onLost: (error) => emit({ type: 'listen_failed', reason: error.message }),
    },
  );

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      await listener.close();
      for (const connection of connections) connection.destroy();
      await Promise.all(gone);
    })();
    return closing;
  };
  return {
    baseURL,
    port: listener.port,
    randomSeed: script.seed,
    requests,
    get droppedRequests() {
      return droppedRequests;
    },
    whenListening: listener.whenListening,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function outcomeOf({ how, reached }: PlayEnd): Outcome {
  // Silence and keep-alives for ever have no end of their own: whoever ends them ends them as scripted.
  if (reached?.op === 'pulse' && reached.times === Number.POSITIVE_INFINITY) return 'stalled';
  if (reached?.op === 'teardown' && reached.kind === 'stall') return 'stalled';
  if (how !== 'done') return how;
  return reached?.op === 'teardown' && reached.kind === 'rst' ? 'reset' : 'completed';
}

function notify(onEvent: ((event: ServerEvent) => unknown) | undefined, event: ServerEvent): void {
  try {
    const result = onEvent?.(event);
    // An async observer's failure is its own, too.
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // An observer that throws changes nothing on the wire.
  }
}
