import { messageOf, WirefaultError } from '../errors.js';
import { errorReply, jsonReply, type Reply } from '../http/reply.js';
import { after, type Later } from '../later.js';
import type { Ledger } from '../proof/ledger.js';
import type { Command, JournalFilter } from './commands.js';
import { type ControlTarget, shownRule } from './target.js';

/** Does what a command says. `follow` is a reply that goes on. */
export type Handled =
  | { readonly kind: 'reply'; readonly reply: Reply }
  | { readonly kind: 'later'; readonly reply: Promise<Reply> }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'follow'; readonly lines: AsyncIterableIterator<string> };

export function handle(command: Command, target: ControlTarget): Later<Handled> {
  const { rules } = target;
  switch (command.kind) {
    case 'list':
      return after(rules.list(), (listed) =>
        after(rules.spent(), (spent) => reply(200, { rules: listed.map(shownRule), spent: spent.map(shownRule) })),
      );
    case 'inject':
      try {
        return after(rules.inject(command.rule), (rule) => reply(201, shownRule(rule)));
      } catch (thrown) {
        return refusal(thrown);
      }
    case 'remove':
      return after(
        rules.remove(command.id),
        (was): Handled =>
          was
            ? reply(200, { removed: command.id })
            : {
                kind: 'reply',
                reply: errorReply(404, 'no_rule', `there is no rule ${command.id}: it was never, or it was used up`),
              },
      );
    case 'clear':
      return after(rules.clear(), (removed) => reply(200, { removed }));
    case 'reset':
      return after(rules.reset(), (generation) => reply(200, { generation }));
    case 'health': {
      const health = target.health();
      return reply(health.state === 'away' ? 503 : 200, health);
    }
    case 'gates':
      return after(target.gates, (waiting) => reply(200, { waiting: Object.fromEntries(waiting) }));
    case 'release':
      return after(target.release(command.gate, command.count), () =>
        after(target.gates, (waiting) => reply(200, { gate: command.gate, waiting: waiting.get(command.gate) ?? 0 })),
      );
    case 'refuse':
      if (target.noRefusal !== undefined) {
        return { kind: 'reply', reply: errorReply(409, 'refusal_impossible', target.noRefusal) };
      }
      // The port closes once this answer is out; the caller does that.
      return reply(200, { refusedForMs: command.ms });
    case 'journal': {
      const { filter, follow } = command;
      return after(target.ledgers, (ledgers): Handled => {
        const known = ledgers.filter((ledger) => matches(ledger, filter)).map(lineOf);
        if (!follow) return { kind: 'reply', reply: ndjson(known) };
        return { kind: 'follow', lines: following(known, filter, target.followLedgers()) };
      });
    }
    case 'bytes': {
      const { exchange, of } = command;
      return after(target.bytesOf(exchange, of), (bytes): Handled => {
        if (bytes) return { kind: 'bytes', bytes };
        const why = `the bytes of exchange ${exchange} aren't kept: it is not settled yet, or too long ago; --capture keeps all`;
        return { kind: 'reply', reply: errorReply(404, 'no_bytes', why) };
      });
    }
    case 'metrics':
      return { kind: 'later', reply: target.metrics().then(metricsReply) };
    default:
      return command satisfies never;
  }
}

/** What was asked for can't be done: it is wrong, or the state that others share can't be asked. */
export function refusal(thrown: unknown): Handled {
  const away = !(thrown instanceof WirefaultError);
  const reply = errorReply(away ? 503 : 400, away ? 'state_away' : 'bad_control', messageOf(thrown));
  return { kind: 'reply', reply };
}

function reply(status: number, body: object): Handled {
  return { kind: 'reply', reply: jsonReply(status, body) };
}

function metricsReply(body: string): Reply {
  return { status: 200, headers: [['Content-Type', 'text/plain; version=0.0.4; charset=utf-8']], body };
}

function ndjson(lines: readonly string[]): Reply {
  return { status: 200, headers: [['Content-Type', 'application/x-ndjson']], body: lines.join('') };
}

function lineOf(ledger: Ledger): string {
  return `${JSON.stringify(ledger)}\n`;
}

function matches({ exchange, lane, selection, outcome }: Ledger, filter: JournalFilter): boolean {
  const { since = 0, lane: inLane = lane, behavior = selection.behavior, outcome: ended = outcome, rule } = filter;
  const plain = exchange >= since && lane === inLane && selection.behavior === behavior && outcome === ended;
  return plain && (rule === undefined || selection.rule === rule);
}

/** Lines that go on. Where nobody reads them any more, the following ends, with the next ledger at the latest. */
function following(
  known: readonly string[],
  filter: JournalFilter,
  coming: AsyncIterableIterator<Ledger>,
): AsyncIterableIterator<string> {
  let begun = false;
  let over = false;
  const lines = linesOf();

  async function* linesOf(): AsyncGenerator<string, void, undefined> {
    yield* known;
    begun = true;
    for await (const ledger of coming) {
      if (over) return;
      if (matches(ledger, filter)) yield lineOf(ledger);
    }
  }

  return {
    next: () => lines.next(),
    return: () => {
      over = true;
      // A generator that was never begun cleans nothing up: it is begun, and then ended.
      if (!begun) void coming.next();
      void coming.return?.();
      return lines.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
