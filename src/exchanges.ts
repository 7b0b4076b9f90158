import { type Answers, answersOf } from './answers.js';
import { messageOf } from './errors.js';
import type { Concrete, Outcome, RequestRecord, Scripted, ServerEvent } from './events.js';
import { replyPlan } from './fault/reply-plan.js';
import { type Selection, select } from './fault/script.js';
import type { Teardown } from './fault/spec.js';
import { type WirePlan, writtenPart } from './fault/wire-plan.js';
import { errorReply } from './http/reply.js';
import type { Request } from './http/request.js';
import { type Routed, route } from './http/routes.js';
import type { Job } from './net/connection.js';
import type { PlayEnd } from './net/player.js';
import type { ResolvedOptions } from './options.js';
import { eventsFlushed } from './proof/account.js';
import type { Bookkeeper } from './proof/bookkeeper.js';

/** From a request to the job that answers it: routed, selected, planned, and put on record. */
export interface Exchanges {
  /** The handler of one connection, whose exchanges it counts. */
  handlerFor(connection: number): (request: Request) => Job;
  readonly requests: readonly RequestRecord[];
  /** Records that `requests` no longer holds. */
  readonly dropped: number;
}

export interface ExchangesDeps {
  readonly options: ResolvedOptions;
  /** Records kept. */
  readonly requestHistory: number;
  readonly books: Bookkeeper;
  emit(event: ServerEvent): void;
  /** Opens so many refusal windows, one after the other. */
  refuse(windows: number): void;
}

/** One shared cursor in arrival order, for now. */
const LANE = 'default';

type Turn = Routed & { readonly kind: 'turn' };

export function exchangesOf(deps: ExchangesDeps): Exchanges {
  const { options, books, emit } = deps;
  const answers = answersOf(options);
  const requests: RequestRecord[] = [];
  let dropped = 0;
  let attempts = 0;

  function handle(request: Request, connection: number, onConnection: number): Job {
    const routed = route(request, options);
    const { keepAlive, method, path } = request;
    switch (routed.kind) {
      case 'turn':
        return exchange(request, routed, connection, onConnection);
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

  function exchange(request: Request, turn: Turn, connection: number, onConnection: number): Job {
    const selection = select(options.script, LANE, ++attempts);
    const told = { attempt: selection.attempt, ...namesOf(selection), path: request.path };
    const record: RequestRecord = { ...told, headers: request.headers, body: turn.body, chunksSent: 0 };
    keep(record);
    emit({ type: 'request', ...told });
    const { plan: intended, failed } = planOf(answers, selection, turn, request);
    const plan = writtenPart(intended);
    const intent = books.intentOf(intended);
    const book = books.open({ connection, onConnection, request, protocol: turn.protocol, selection, plan, intent });
    return {
      plan,
      onLast: () => {
        const refusals = selection.kind === 'behavior' ? selection.refusals : 0;
        if (refusals > 0) deps.refuse(refusals);
      },
      onWrite: book.onWrite,
      onTeardown: book.onTeardown,
      onEnd: (end, recorder) => {
        const outcome = failed ? 'server_error' : outcomeOf(end);
        record.chunksSent = eventsFlushed(plan, end.flushedBytes);
        record.outcome = outcome;
        emit({ type: 'result', ...told, outcome, chunksSent: record.chunksSent });
        const teardown = end.reached?.op === 'teardown' ? end.reached.kind : 'none';
        book.ended({ outcome, teardown, flushedBytes: end.flushedBytes }, recorder);
      },
    };
  }

  function keep(record: RequestRecord): void {
    requests.push(record);
    if (requests.length <= deps.requestHistory) return;
    requests.shift();
    dropped++;
  }

  return {
    handlerFor: (connection) => {
      let onConnection = 0;
      return (request) => handle(request, connection, ++onConnection);
    },
    requests,
    get dropped() {
      return dropped;
    },
  };
}

function namesOf(selection: Selection): { scriptBehavior: Scripted; behavior: Concrete } {
  return selection.kind === 'behavior'
    ? { scriptBehavior: selection.scripted, behavior: selection.behavior }
    : { scriptBehavior: 'script_exhausted', behavior: 'script_exhausted' };
}

function planOf(
  answers: Answers,
  selection: Selection,
  turn: Turn,
  request: Request,
): { plan: WirePlan; failed: boolean } {
  if (selection.kind === 'exhausted') {
    return {
      plan: replyPlan(errorReply(500, 'MOCK_SCRIPT_EXHAUSTED', 'mock script exhausted'), request),
      failed: true,
    };
  }
  try {
    return { plan: answers.plan(selection, turn.protocol, turn.body, request), failed: false };
  } catch (thrown) {
    return { plan: replyPlan(errorReply(500, 'PLAN_IMPOSSIBLE', messageOf(thrown)), request), failed: true };
  }
}

/** What a teardown that was played to its end is called. */
const OUTCOME_OF: Readonly<Record<Teardown, Outcome>> = {
  rst: 'reset',
  rst_now: 'reset',
  fin: 'closed',
  half_close: 'closed',
  eof: 'completed',
  stall: 'stalled',
  keep_alive: 'completed',
};

function outcomeOf({ how, reached }: PlayEnd): Outcome {
  // Silence and keep-alives for ever have no end of their own: whoever ends them ends them as scripted.
  if (reached?.op === 'pulse' && reached.times === Number.POSITIVE_INFINITY) return 'stalled';
  if (reached?.op === 'teardown' && reached.kind === 'stall') return 'stalled';
  if (how !== 'done') return how;
  return reached?.op === 'teardown' ? OUTCOME_OF[reached.kind] : 'completed';
}
