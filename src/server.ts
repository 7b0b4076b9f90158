import type { Socket } from 'node:net';
import { WirefaultError } from './errors.js';
import type { RequestRecord, ServerEvent } from './events.js';
import { exchangesOf } from './exchanges.js';
import { type Connection, serveConnection } from './net/connection.js';
import { bracketed, listen } from './net/listener.js';
import type { GivenOptions, ResolvedOptions } from './options.js';
import { type Bookkeeper, bookkeeper } from './proof/bookkeeper.js';
import { openCapture } from './proof/capture.js';
import { EVIDENCE_SOURCES, type EvidenceSource, type Kernel } from './proof/counters.js';
import { openJournal } from './proof/journal.js';
import { kernelOf } from './proof/kernel.js';
import type { Ledger } from './proof/ledger.js';
import { recordConnection } from './proof/recorder.js';
import { settler } from './proof/settle.js';
import { type Naming, resolveOptions } from './resolve-options.js';
import { VERSION } from './version.js';

/**
 * The straight line, wired together:
 *
 *   socket ─▶ http/request-parser ─▶ route ─▶ fault/script: select ─▶ answers: compile, stamp ─▶ net/player ─▶ socket
 *                                                                                                              │
 *                                                           journal ◀─ bookkeeper ◀─ account ◀─ proof/recorder ◀
 */

export interface FaultServerOptions extends GivenOptions {
  /** Called for each event as it happens. What it throws changes nothing. */
  readonly onEvent?: (event: ServerEvent) => void;
  /** Accepted requests kept in `requests`, the newest ones. Default 10,000. */
  readonly requestHistory?: number;
  /** Ledgers kept in `ledgers`, the newest ones. Default 1,000. */
  readonly ledgerHistory?: number;
  /** Replace keys in ledgers and captures. Default true. */
  readonly redact?: boolean;
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
  /** Where the byte counts of the ledgers come from. */
  readonly evidence: EvidenceSource;
  /** What the recorder saw of each exchange, the newest `ledgerHistory` of them, in the order in which they settled. */
  readonly ledgers: readonly Ledger[];
  /**
   * The ledger of an exchange, counted from 1 in the order of the requests; resolves once it has settled.
   * @throws WirefaultError `no_ledger` where none can come: it was dropped, none are kept, or the server is closed
   */
  ledger(exchange: number): Promise<Ledger>;
  /** Each ledger from now on, as it settles; ends when the server is closed. */
  followLedgers(): AsyncIterableIterator<Ledger>;
  /** Resolves when no exchange is under way and every ledger is settled, and written where there is a journal. */
  idle(): Promise<void>;
  /** Resolves when the port accepts connections: at once, or at the end of a refusal window. */
  whenListening(): Promise<void>;
  /** Stops listening and ends all connections, stalled ones too. May be called again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const DEFAULT_REQUEST_HISTORY = 10_000;
const DEFAULT_LEDGER_HISTORY = 1000;

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
  const { onEvent, requestHistory = DEFAULT_REQUEST_HISTORY, ledgerHistory, redact, ...rest } = given;
  checkCount('requestHistory', requestHistory);
  checkCount('ledgerHistory', ledgerHistory);
  const options = resolveOptions(rest, naming);
  const emit = (event: ServerEvent): void => notify(onEvent, event);
  const { script } = options;
  const kernel = await chosenKernel(options, naming);
  const books = await openBooks(options, kernel.source, { emit, ledgerHistory, redact });
  const refuse = (windows: number): void => listener.refuse(windows * options.listenDelayMs);
  const exchanges = exchangesOf({ options, requestHistory, books, emit, refuse });
  const open = openConnections();
  const settling = settler();

  let baseURL = '';
  let ready = false;
  const listener = await listen(
    { ...options, refuseFirstMs: script.leadingRefusals * options.listenDelayMs },
    {
      onConnection: (socket) =>
        open.add(socket, (number) =>
          serveConnection(socket, {
            limits: { ...options, keepRaw: options.capture !== undefined },
            requestTimeoutMs: options.requestTimeoutMs,
            recorder: recordConnection(socket, kernel, settling),
            handle: exchanges.handlerFor(number),
            onBad: (bad) => emit({ type: 'rejected', ...bad }),
          }),
        ),
      onBound: ({ port }) => {
        baseURL = `http://${bracketed(options.host)}:${port}`;
      },
      onRefusing: (delayMs) => emit({ type: 'unavailable', baseURL: `${baseURL}/v1`, delayMs }),
      onListening: () => {
        const { seed: randomSeed } = script;
        if (ready) emit({ type: 'available', baseURL: `${baseURL}/v1` });
        else emit({ type: 'ready', baseURL: `${baseURL}/v1`, randomSeed, evidence: kernel.source, version: VERSION });
        ready = true;
      },
      onLost: (error) => emit({ type: 'listen_failed', reason: error.message }),
    },
  ).catch(async (error) => {
    await books.close();
    throw error;
  });

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      await listener.close();
      await open.destroyAll();
      await books.close();
    })();
    return closing;
  };
  return {
    baseURL,
    port: listener.port,
    randomSeed: script.seed,
    requests: exchanges.requests,
    get droppedRequests() {
      return exchanges.dropped;
    },
    evidence: kernel.source,
    ledgers: books.ledgers,
    ledger: books.ledger,
    followLedgers: books.follow,
    idle: books.idle,
    whenListening: listener.whenListening,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return;
  const message = `${name}: ${JSON.stringify(value)} is not allowed; expected a whole number of at least 0`;
  throw new WirefaultError('bad_option', message);
}

async function chosenKernel({ evidence }: ResolvedOptions, naming: Naming): Promise<Kernel> {
  const kernel = await kernelOf(evidence);
  if (kernel) return kernel;
  const allowed = EVIDENCE_SOURCES.join(', ');
  const message = `${naming('evidence')}: "${evidence}" is not to be had on this machine; expected auto, or another of ${allowed}`;
  throw new WirefaultError('bad_option', message);
}

/** The journal and the capture that the options ask for, and the books that are kept with them. */
async function openBooks(
  options: ResolvedOptions,
  evidence: EvidenceSource,
  kept: {
    readonly emit: (event: ServerEvent) => void;
    readonly ledgerHistory: number | undefined;
    readonly redact: boolean | undefined;
  },
): Promise<Bookkeeper> {
  const { emit, ledgerHistory = DEFAULT_LEDGER_HISTORY, redact = true } = kept;
  const { journal: path, journalMaxBytes: maxBytes, capture: dir, settleTimeoutMs } = options;
  const capture =
    dir === undefined
      ? undefined
      : await openCapture({ dir, redact, onLost: (reason) => emit({ type: 'capture_failed', reason }) });
  const journal =
    path === undefined
      ? undefined
      : await openJournal({
          path,
          maxBytes,
          onLost: (reason, lostLines) => emit({ type: 'journal_failed', reason, lostLines }),
        });
  const contentBlocks = options.contentBlocks > 0;
  return bookkeeper({ evidence, history: ledgerHistory, redact, contentBlocks, settleTimeoutMs, journal, capture });
}

interface OpenConnections {
  /** Connections are numbered from 1. */
  add(socket: Socket, serve: (number: number) => Connection): void;
  destroyAll(): Promise<void>;
}

function openConnections(): OpenConnections {
  const open = new Map<Connection, Promise<void>>();
  let count = 0;
  return {
    add: (socket, serve) => {
      const connection = serve(++count);
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      open.set(connection, closed);
      closed.then(() => open.delete(connection));
    },
    destroyAll: async () => {
      for (const connection of open.keys()) connection.destroy();
      await Promise.all(open.values());
    },
  };
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
