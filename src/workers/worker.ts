import cluster from 'node:cluster';
import type { ControlTarget } from '../control/target.js';
import { messageOf, WirefaultError } from '../errors.js';
import type { ServerEvent } from '../events.js';
import type { FaultServer } from '../fault-server.js';
import type { Gates } from '../gates.js';
import type { Journal } from '../proof/journal.js';
import type { Ledger } from '../proof/ledger.js';
import type { NamedOptions, Within } from '../server.js';
import type { SharedState } from '../state/ask.js';
import { type Channel, channel } from './channel.js';
import { feed } from './feed.js';
import { NO_REFUSAL } from './refused.js';

/** One of several processes that serve a port. Its faults, its journal and its control plane are those of the primary. */

export function isWorker(): boolean {
  return cluster.isWorker;
}

/** Serves until the primary says otherwise. `start` is the command's own. */
export async function runWorker(start: (given: NamedOptions) => Promise<FaultServer>): Promise<never> {
  // A terminal sends these to all processes; it is the primary that ends the workers, when it has what they know.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  let server: FaultServer | undefined;
  let starting: Promise<void> | undefined;
  let own: ControlTarget | undefined;
  let away: string | undefined;
  const watchers: (() => void)[] = [];
  const opened = new Map<number, () => void>();
  const lines = feed<string>();
  let closing = false;
  const primary = channel(
    (messages) => process.send?.(messages),
    {
      keptBytes: async ({ exchange, of }) => own?.bytesOf(exchange, of),
      connections: () => own?.connections() ?? 0,
      close: async () => {
        closing = true;
        // One that is still being started is closed as soon as it is there.
        await starting;
        await server?.close();
      },
    },
    {
      opened: (id) => {
        opened.get(id)?.();
        opened.delete(id);
      },
      changed: () => {
        for (const changed of watchers) changed();
      },
      away: (reason) => {
        away = reason;
      },
      line: lines.tell,
    },
  );
  process.on('message', primary.onMessages);
  // The primary has had all that there was to tell, or is gone.
  process.once('disconnect', () => process.exit(0));
  const told = await primary.call('start');
  away = told.away;
  const state: SharedState = {
    take: (ask) => primary.call('take', ask),
    book: () => primary.call('book'),
    inject: (rule) => primary.call('inject', rule),
    remove: (id) => primary.call('remove', id),
    clear: () => primary.call('clear'),
    reset: () => primary.call('reset'),
    watch: (changed) => watchers.push(changed),
    get away() {
      return away;
    },
    close: async () => {},
  };
  const journal = told.ledgers ? journalTo(primary) : undefined;
  const within: Within = {
    membership: { state, member: cluster.worker?.id ?? 1, journal },
    gates: gatesAt(primary, opened),
    controlElsewhere: told.controlElsewhere,
    target: (mine) => {
      own = mine;
      return targetAt(primary, mine, lines);
    },
  };
  const onEvent = (event: ServerEvent): void => primary.tell('event', event);
  if (!closing)
    starting = start({ ...told.options, within, onEvent }).then(
      (started) => {
        server = started;
      },
      (thrown) => {
        const code = thrown instanceof WirefaultError ? thrown.code : 'listen_failed';
        primary.tell('failed', { code, message: messageOf(thrown) });
      },
    );
  return new Promise<never>(() => {});
}

function journalTo(primary: Channel): Journal {
  return { append: (line) => primary.tell('ledger', line.toString()), flush: async () => {}, close: async () => {} };
}

function gatesAt(primary: Channel, opened: Map<number, () => void>): Gates {
  let ids = 0;
  const notHere = (): never => {
    throw new Error('the gates of workers are held by the primary');
  };
  return {
    pass: (name, resume) => {
      const id = ++ids;
      opened.set(id, resume);
      primary.tell('gate', { id, name });
      return () => {
        if (opened.delete(id)) primary.tell('ungate', id);
      };
    },
    release: notHere,
    waiting: notHere,
    held: new Map(),
  };
}

function targetAt(
  primary: Channel,
  { rules, health }: ControlTarget,
  lines: ReturnType<typeof feed<string>>,
): ControlTarget {
  return {
    rules,
    health,
    get gates() {
      return primary.call('waiting');
    },
    release: (gate, count) => primary.call('release', { gate, count }),
    refuse: () => {},
    noRefusal: NO_REFUSAL,
    get ledgers() {
      return primary.call('ledgers').then((all) => all.map((line): Ledger => JSON.parse(line)));
    },
    followLedgers: () => {
      primary.tell('follow', true);
      return lines.follow(
        (line): Ledger => JSON.parse(line),
        () => primary.tell('follow', false),
      );
    },
    bytesOf: async (exchange, of) => {
      const bytes = await primary.call('bytes', { exchange, of });
      return bytes && Buffer.from(bytes);
    },
    connections: () => 0,
    metrics: () => primary.call('metrics'),
  };
}
