import type { Socket } from 'node:net';
import { controlJobs } from './control/jobs.js';
import { type Metrics, metricsOf } from './control/metrics.js';
import { controlHandler } from './control/port.js';
import type { ControlTarget } from './control/target.js';
import type { ExchangeListener, ServerEvent } from './events.js';
import { exchangesOf } from './exchanges.js';
import type { FaultServer, FaultServerOptions } from './fault-server.js';
import { type Gates, gatesOf } from './gates.js';
import { knownHeads } from './http/known-heads.js';
import { serveConnection } from './net/connection.js';
import type { ConnectionDeps } from './net/connection-deps.js';
import type { ClientAddress, Handler } from './net/job.js';
import { bracketed, listen } from './net/listener.js';
import type { ResolvedOptions } from './options.js';
import { byteStore } from './proof/byte-store.js';
import { recordConnection } from './proof/recorder.js';
import { rounds } from './proof/rounds.js';
import { settler } from './proof/settle.js';
import { proxyAnswers } from './proxy/proxy-answers.js';
import type { Upstream } from './proxy/upstream.js';
import type { Naming } from './refused.js';
import { openReplay } from './replay/open.js';
import { chosenKernel, openBooks } from './server-books.js';
import { openConnections } from './server-connections.js';
import { checkCount, checkReach, exchangeListener, healthOf, notify, recordingFor } from './server-parts.js';
import { injectInto, type Membership, notShared, openState, type ServerState } from './server-state.js';
import { findingsOf } from './trial/findings.js';
import { VERSION } from './version.js';
import { openWindow, windowOf } from './windows.js';

/**
 * The straight line, wired together:
 *
 *   socket ─▶ http/request-parser ─▶ route ─▶ fault/script: select ─▶ answers: compile, stamp ─▶ net/player ─▶ socket
 *                                                                                                              │
 *                                                           journal ◀─ bookkeeper ◀─ account ◀─ proof/recorder ◀
 */

/** What a server gets from the process that it is a worker of. */
export interface Within {
  readonly membership: Membership;
  readonly gates: Gates;
  /** The control plane is on a port of its own, which isn't this server's. */
  readonly controlElsewhere: boolean;
  /** The control plane of all workers. */
  target(own: ControlTarget): ControlTarget;
}

export interface NamedOptions extends FaultServerOptions {
  readonly within?: Within;
}

const DEFAULT_REQUEST_HISTORY = 10_000;
const DEFAULT_LEDGER_HISTORY = 1000;
/** Of exchanges' bytes, kept for the control plane. */
const CONTROL_BYTES = 16_777_216;
const CONTROL_EXCHANGES = 1000;

/**
 * Starts a fault server. Resolves once the port is bound; if the sequence begins with `connection_refused` the port
 * is then refusing, and `whenListening()` tells when that ends.
 * @throws WirefaultError `bad_option`, `bad_script`, `port_in_use` or `listen_failed`
 */
export function startFaultServer(options: FaultServerOptions = {}): Promise<FaultServer> {
  return startNamed(options, (name) => name);
}

/** As `startFaultServer`, with options called as the caller's user knows them. */
export async function startNamed(given: NamedOptions, naming: Naming, upstream?: Upstream): Promise<FaultServer> {
  const { onEvent, requestHistory = DEFAULT_REQUEST_HISTORY, redact = true, within, ...others } = given;
  const { ledgerHistory = DEFAULT_LEDGER_HISTORY, ...rest } = others;
  checkCount('requestHistory', requestHistory);
  checkCount('ledgerHistory', ledgerHistory);
  const metrics = metricsOf();
  const emit = (event: ServerEvent): void => {
    metrics.onEvent(event);
    notify(onEvent, event);
  };
  const { options, state } = await openState(rest, naming, { emit, membership: within?.membership });
  try {
    return await startWith({
      options,
      state,
      upstream,
      naming,
      requestHistory,
      ledgerHistory,
      redact,
      within,
      metrics,
      emit,
      told: exchangeListener(metrics, onEvent),
    });
  } catch (thrown) {
    await state.close();
    throw thrown;
  }
}

interface StartDeps {
  readonly options: ResolvedOptions;
  readonly state: ServerState;
  readonly upstream: Upstream | undefined;
  readonly naming: Naming;
  readonly requestHistory: number;
  readonly ledgerHistory: number;
  readonly redact: boolean;
  readonly within: Within | undefined;
  readonly metrics: Metrics;
  emit(event: ServerEvent): void;
  readonly told: ExchangeListener;
}

async function startWith(deps: StartDeps): Promise<FaultServer> {
  const { options, state, upstream, naming, requestHistory, ledgerHistory, redact, within, metrics, emit, told } = deps;
  const { script } = options;
  // What an upstream's answer has is known when it comes.
  const replay = await openReplay(options, naming);
  if (!upstream) checkReach(options, naming, replay);
  const recording = await recordingFor(upstream, { redact, name: naming('record'), emit });
  const kernel = await chosenKernel(options, naming);
  const bytes = options.control
    ? byteStore({ maxBytes: CONTROL_BYTES, maxExchanges: CONTROL_EXCHANGES, redact })
    : undefined;
  const { onBytes } = metrics;
  const beside = state.journal;
  const books = await openBooks(options, {
    evidence: kernel.source,
    emit,
    ledgerHistory,
    redact,
    bytes,
    beside,
    onBytes,
  });
  const gates = within?.gates ?? gatesOf();
  const open = openConnections(state.firstConnection);
  const askers = { settler: settler(), rounds: rounds() };

  const ownTarget: ControlTarget = {
    rules: state.rules,
    health: () => healthOf(state),
    connections: () => open.count,
    get gates() {
      return gates.held;
    },
    release: gates.release,
    refuse: (ms) => listener.refuse(ms),
    get ledgers() {
      return books.ledgers();
    },
    followLedgers: books.follow,
    bytesOf: (exchange, of) => bytes?.get(exchange, of),
    metrics: () =>
      metrics.text({
        ...state.rules.counts(),
        openConnections: open.count,
        waitingAtGates: [...gates.held.values()].reduce((sum, count) => sum + count, 0),
        droppedRequests: exchanges.dropped,
      }),
  };
  const target = within?.target(ownTarget) ?? ownTarget;
  const control = options.control ? controlJobs({ options, target, emit }) : undefined;
  const exchanges = exchangesOf({
    options,
    requestHistory,
    books,
    emit,
    told,
    chooser: state.chooser,
    proxy:
      upstream &&
      proxyAnswers({
        upstream,
        content: options,
        wanted: books.wanted,
        keepsBytes: books.keepsBytes,
        recording,
        emit,
      }),
    replay,
    control: options.controlPort === undefined && !within?.controlElsewhere ? control : undefined,
    open: (windows) => {
      for (const window of windows) openWindow(listener, windowOf(window, options));
    },
  });

  // What is decided later about a head is done with the bytes that came with it.
  const keepRaw = Boolean(upstream) || options.capture !== undefined || !state.own || bytes !== undefined;
  const limits = { ...options, keepRaw };
  const heads = knownHeads(keepRaw);
  const serving: ConnectionDeps = {
    limits,
    heads,
    requestTimeoutMs: options.requestTimeoutMs,
    timeScale: options.timeScale,
    gate: gates.pass,
    onIdle: (event, connection) => emit({ type: 'idle_fault', connection, ...event }),
    onBad: (bad) => emit({ type: 'rejected', ...bad }),
    onClose: open.remove,
  };
  function serve(socket: Socket, handlerFor: (number: number, client: ClientAddress) => Handler): void {
    const number = open.number();
    const recorder = recordConnection(socket, kernel, askers);
    const handler = handlerFor(number, socket);
    open.add(serveConnection(socket, serving, { number, recorder, handler }));
  }

  const failed = async (error: unknown): Promise<never> => {
    await books.close();
    throw error;
  };
  const controlListener =
    control && options.controlPort !== undefined
      ? await listen(
          { host: options.host, port: options.controlPort, refuseFirstMs: 0 },
          {
            onConnection: (socket) => serve(socket, (_, client) => controlHandler(control, client)),
            onBound: () => {},
            onWindow: () => {},
            onListening: () => {},
            onLost: (error) => emit({ type: 'listen_failed', reason: error.message }),
          },
        ).catch(failed)
      : undefined;

  if (upstream?.target.tls?.insecure) emit({ type: 'upstream_insecure', upstream: upstream.target.url });
  let baseURL = '';
  let ready = false;
  const urlOf = (port: number): string => `http://${bracketed(options.host)}:${port}`;
  const controlURL = (): string | undefined => control && (controlListener ? urlOf(controlListener.port) : baseURL);
  const scripts = [script, ...options.lanes.values()];
  const windows = scripts.flatMap(({ leading, entries }) => [...leading, ...entries.flatMap((entry) => entry.windows)]);
  const listener = await listen(
    {
      ...options,
      refuseFirstMs: 0,
      first: script.leading.map((window) => windowOf(window, options)),
      kinds: windows.map((window) => windowOf(window, options).kind),
    },
    {
      onConnection: (socket) => serve(socket, exchanges.handlerFor),
      onBound: ({ port }) => {
        baseURL = urlOf(port);
      },
      onWindow: (window) => {
        const span = window.kind === 'refuse_attempts' ? { attempts: window.attempts } : { delayMs: window.ms };
        const how = window.kind === 'blackhole' ? { blackhole: true as const } : {};
        emit({ type: 'unavailable', baseURL: `${baseURL}/v1`, ...span, ...how });
      },
      onListening: () => {
        const { seed: randomSeed } = script;
        if (ready) emit({ type: 'available', baseURL: `${baseURL}/v1` });
        else {
          const at = controlURL();
          const told = { randomSeed, evidence: kernel.source, version: VERSION, ...(at ? { controlURL: at } : {}) };
          emit({ type: 'ready', baseURL: `${baseURL}/v1`, ...told });
        }
        ready = true;
      },
      onLost: (error) => emit({ type: 'listen_failed', reason: error.message }),
    },
  ).catch(async (error) => {
    await controlListener?.close();
    return failed(error);
  });

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      await Promise.all([listener.close(), controlListener?.close()]);
      await open.destroyAll();
      // What was taken meanwhile gets its ledger.
      await state.settled();
      upstream?.close();
      await recording?.flush();
      await books.close();
      await state.close();
    })();
    return closing;
  };
  return {
    baseURL,
    port: listener.port,
    controlURL: controlURL(),
    randomSeed: script.seed,
    requests: exchanges.requests,
    get droppedRequests() {
      return exchanges.dropped;
    },
    evidence: kernel.source,
    get ledgers() {
      return books.ledgers();
    },
    ledger: books.ledger,
    followLedgers: books.follow,
    findings: () =>
      findingsOf(books.ledgers(), {
        response: (exchange) => bytes?.get(exchange, 'response'),
        requestBody: (exchange) => bytes?.get(exchange, 'request')?.toString('utf8'),
      }),
    idle: async () => {
      await books.idle();
      await recording?.flush();
    },
    whenListening: listener.whenListening,
    get rules() {
      return notShared(state.own, 'list()').rules.rules;
    },
    get spentRules() {
      return notShared(state.own, 'spent()').rules.spent;
    },
    inject: (rule) => injectInto(notShared(state.own, 'inject(rule)').rules, rule, options),
    removeRule: (id) => notShared(state.own, 'remove(id)').rules.remove(id),
    clearRules: () => notShared(state.own, 'clear()').rules.clear(),
    reset: () => notShared(state.own, 'reset()').reset(),
    shared: state.own ? undefined : state.rules,
    refuse: listener.refuse,
    release: gates.release,
    waitingAt: gates.waiting,
    close,
    [Symbol.asyncDispose]: close,
  };
}
