import cluster, { type Worker } from 'node:cluster';
import { controlJobs } from '../control/jobs.js';
import { metricsOf } from '../control/metrics.js';
import { WirefaultError } from '../errors.js';
import type { ServerEvent } from '../events.js';
import type { RuleSpec } from '../fault/rules.js';
import type { FaultServerOptions } from '../fault-server.js';
import { gatesOf } from '../gates.js';
import type { ResolvedOptions } from '../options.js';
import type { Ledger } from '../proof/ledger.js';
import type { Naming } from '../refused.js';
import { resolveOptions } from '../resolve-options.js';
import { namedRule } from '../resolve-script.js';
import { openRedis, sharedRules } from '../server-state.js';
import type { Ask, SharedState, Took } from '../state/ask.js';
import { type MemoryState, memoryState } from '../state/memory-state.js';
import { type Channel, channel } from './channel.js';
import { openControlPort } from './control-port.js';
import { feed } from './feed.js';
import { lostLedger, type UnderWay } from './lost.js';
import { freePort, openJournals } from './opening.js';
import { keptBytes, primaryTarget } from './primary-target.js';
import { refuseWithWorkers } from './refused.js';

/**
 * The process that the workers belong to. It has what there is one of: lanes and rules, the journal, the gates, the
 * control plane. It answers no request itself.
 */
export interface Primary {
  close(): Promise<void>;
}

export interface PrimaryOptions {
  readonly workers: number;
  readonly given: FaultServerOptions;
  readonly naming: Naming;
}

interface Running {
  readonly worker: Worker;
  readonly channel: Channel;
  readonly underWay: Map<number, UnderWay>;
  /** Gives up an exchange that waits at a gate. */
  readonly atGates: Map<number, () => void>;
  ready: boolean;
}

/** Ledgers that the control plane can tell of. */
const KEPT_LEDGERS = 1000;
/** A worker that doesn't end by then is ended. */
const CLOSE_LIMIT_MS = 10_000;

/** @throws WirefaultError as a server does, and where workers can't do what the options say */
export async function runPrimary({ workers: count, given, naming }: PrimaryOptions): Promise<Primary> {
  const { onEvent, requestHistory: _, ledgerHistory: __, redact: ___, ...rest } = given;
  const first = resolveOptions(rest, naming);
  refuseWithWorkers(first, naming);
  const metrics = metricsOf();
  const running = new Set<Running>();
  const all = (): Channel[] => [...running].map(({ channel: to }) => to);
  let requests = 0;

  function emit(event: ServerEvent): void {
    metrics.onEvent(event);
    if (event.type === 'request') requests++;
    if (event.type === 'state_lost') for (const to of all()) to.tell('away', event.reason);
    if (event.type === 'state_back') for (const to of all()) to.tell('away', undefined);
    onEvent?.(event);
  }

  const redis = await openRedis(rest, first, emit);
  const options: ResolvedOptions = redis ? resolveOptions({ ...rest, randomSeed: redis.seed }, naming) : first;
  const { script, rules, maxLanes, catalogue } = options;
  const memory: MemoryState | undefined = redis
    ? undefined
    : memoryState({ rules, maxLanes, seed: script.seed, named: (spec) => namedRule(spec, 'rule', catalogue) });
  const state: SharedState = redis?.state ?? (memory as MemoryState);
  /** What was opened before is closed where what comes next can't be: nothing keeps the process then. */
  const orClose = async <T>(opening: Promise<T>): Promise<T> =>
    opening.catch(async (error) => {
      await state.close();
      throw error;
    });
  const journal = await orClose(openJournals(options, redis?.journal, emit));
  const gates = gatesOf();
  const lines: string[] = [];
  const followed = feed<string>();
  /** What the rules that are or were in force say. */
  const specs = new Map<number, RuleSpec>();
  let droppedLanes = 0;
  let ruleCount = 0;

  async function refresh(): Promise<void> {
    const book = await state.book();
    for (const { id, spec } of book.rules) specs.set(id, spec);
    ruleCount = book.rules.length;
  }
  state.watch(() => {
    refresh().catch(() => {});
    for (const to of all()) to.tell('changed', null);
  });
  await orClose(refresh());

  function keep(line: string): void {
    lines.push(line);
    if (lines.length > KEPT_LEDGERS) lines.shift();
    journal?.append(Buffer.from(line));
    if (options.control) {
      const { bytes, lost }: Ledger = JSON.parse(line);
      metrics.onBytes(bytes, lost);
    }
    followed.tell(line);
  }

  function took(of: Running, ask: Ask, result: Took): Took {
    if (result.kind !== 'taken') return result;
    ({ droppedLanes } = result);
    const spec = result.rule === undefined ? undefined : specs.get(result.rule);
    if (wanted) of.underWay.set(result.exchange, { ask, taken: result, spec, atMs: Date.now() });
    return result;
  }

  const wanted = options.control || journal !== undefined;
  const rulesHere = sharedRules(state, { refresh, counts: () => ({ rules: ruleCount, droppedLanes }) }, options);
  const target = primaryTarget({
    rules: rulesHere,
    state,
    gates,
    lines,
    followed,
    workers: all,
    metrics,
    requests: () => requests,
  });

  const control = options.control ? controlJobs({ options, target, emit }) : undefined;
  const controlPort =
    control && options.controlPort !== undefined ? await orClose(openControlPort(options, control, emit)) : undefined;
  let baseURL: string | undefined;
  let evidence: Ledger['evidence'] = 'callbacks';
  let closing: Promise<void> | undefined;
  let told = false;
  let toldInsecure = false;
  let started: { resolve(): void; reject(error: WirefaultError): void } | undefined;
  const start = new Promise<void>((resolve, reject) => {
    started = { resolve, reject };
  });

  function onWorkerEvent(of: Running, event: ServerEvent): void {
    if (event.type !== 'ready') {
      // Each worker says it; it is one upstream.
      const again = event.type === 'upstream_insecure' && toldInsecure;
      toldInsecure ||= event.type === 'upstream_insecure';
      if (!again) emit(event);
      return;
    }
    of.ready = true;
    baseURL ??= event.baseURL;
    ({ evidence } = event);
    if (told || [...running].some(({ ready }) => !ready)) return;
    told = true;
    const controlURL = controlPort?.url ?? (options.control ? baseURL.replace(/\/v1$/, '') : undefined);
    emit({ ...event, ...(controlURL === undefined ? {} : { controlURL }) });
    started?.resolve();
  }

  function fork(): void {
    const worker = cluster.fork();
    let follows = 0;
    let failed: WirefaultError | undefined;
    const to = channel(
      (messages) => {
        if (worker.isConnected()) worker.send(messages as object, () => {});
      },
      {
        start: () => ({
          options: {
            randomSeed: script.seed,
            journal: undefined,
            state: undefined,
            journalStream: undefined,
            controlPort: undefined,
            ledgerHistory: 0,
            port,
          },
          controlElsewhere: controlPort !== undefined,
          ledgers: wanted,
          away: state.away,
        }),
        take: (ask) =>
          memory ? took(own, ask, memory.takeNow(ask)) : state.take(ask).then((one) => took(own, ask, one)),
        book: () => state.book(),
        inject: async (rule) => {
          const added = await state.inject(rule);
          await refresh();
          return added;
        },
        remove: (id) => state.remove(id),
        clear: () => state.clear(),
        reset: () => state.reset(),
        waiting: () => gates.held,
        release: ({ gate, count: through }) => gates.release(gate, through),
        ledgers: () => lines,
        metrics: () => target.metrics(),
        bytes: (of) => keptBytes(all(), of),
      },
      {
        event: (event) => onWorkerEvent(own, event),
        ledger: (line) => {
          own.underWay.delete(Number(/"exchange":(\d+)/.exec(line)?.[1]));
          keep(line);
        },
        gate: ({ id, name }) => {
          const giveUp = gates.pass(name, () => {
            own.atGates.delete(id);
            to.tell('opened', id);
          });
          own.atGates.set(id, giveUp);
        },
        ungate: (id) => {
          own.atGates.get(id)?.();
          own.atGates.delete(id);
        },
        failed: ({ code, message }) => {
          failed = new WirefaultError(code, message);
          worker.process.kill('SIGKILL');
        },
        follow: (begins) => {
          follows += begins ? 1 : -1;
        },
      },
    );
    const own: Running = { worker, channel: to, underWay: new Map(), atGates: new Map(), ready: false };
    const forward = (): void => {
      void forwarding();
    };
    async function forwarding(): Promise<void> {
      for await (const line of followed.follow((one) => one)) {
        if (!running.has(own)) return;
        if (follows > 0) to.tell('line', line);
      }
    }
    running.add(own);
    forward();
    worker.on('message', to.onMessages);
    worker.on('error', () => {});
    worker.on('exit', (code, signal) => onExit(own, failed, signal ?? `exit code ${code}`));
  }

  function onExit(own: Running, failed: WirefaultError | undefined, how: string): void {
    running.delete(own);
    own.channel.gone();
    for (const giveUp of own.atGates.values()) giveUp();
    for (const lost of own.underWay.values()) keep(JSON.stringify(lostLedger(options, lost, evidence)));
    if (closing) return;
    const { id } = own.worker;
    if (!own.ready) {
      // One that can't begin won't the next time either.
      const error = failed ?? new WirefaultError('listen_failed', `worker ${id} ended before it was ready: ${how}`);
      if (told) emit({ type: 'listen_failed', reason: error.message });
      else started?.reject(error);
      return;
    }
    emit({ type: 'worker_lost', worker: id, reason: how, lostExchanges: own.underWay.size });
    fork();
  }

  async function close(): Promise<void> {
    await Promise.all([controlPort?.close(), ...[...running].map(closeOne)]);
    followed.end();
    await journal?.close();
    await state.close();
  }

  async function closeOne({ worker, channel: to }: Running): Promise<void> {
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    const limit = setTimeout(() => worker.process.kill('SIGKILL'), CLOSE_LIMIT_MS);
    await to.call('close').catch(() => {});
    worker.disconnect();
    await exited;
    clearTimeout(limit);
  }

  // One that the system chose is chosen once: it has to be the same for workers that come later.
  const port = options.port === 0 ? await freePort(options.host) : options.port;
  cluster.setupPrimary({ serialization: 'advanced' });
  for (let n = 0; n < count; n++) fork();
  const closeOnce = (): Promise<void> => {
    closing ??= close();
    return closing;
  };
  await start.catch(async (error) => {
    await closeOnce();
    throw error;
  });
  return { close: closeOnce };
}
