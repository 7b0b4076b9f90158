import { answersOf, type Material } from './answers.js';
import { isControlPath } from './control/commands.js';
import { messageOf, WirefaultError } from './errors.js';
import { EXHAUSTED, type Outcome, type RequestRecord, type ServerEvent } from './events.js';
import { expectationFailed, notRecorded, outcomeOf, stateAway, statusIn, unknownFault } from './exchange-ends.js';
import { earlyPlan } from './fault/early-plan.js';
import { replyPlan } from './fault/reply-plan.js';
import type { ListenFault } from './fault/script.js';
import { requestBytesOf } from './fault/stage.js';
import type { WirePlan } from './fault/wire-plan.js';
import { errorReply } from './http/reply.js';
import type { Request, RequestHead } from './http/request.js';
import { type Routed, route, routeHead } from './http/routes.js';
import { after, type Later } from './later.js';
import type { EarlyJob, Handler, HeadDecision, Job } from './net/job.js';
import type { ResolvedOptions } from './options.js';
import { eventsFlushed } from './proof/account.js';
import type { Bookkeeper } from './proof/bookkeeper.js';
import { isPassed, type PassedAnswer, type ProxyAnswers } from './proxy/proxy-answers.js';
import type { Replay } from './replay/replay.js';
import type { Away, Choice, Chooser } from './selector.js';
import type { JsonObject, Protocol } from './sse/dialect.js';

/** From a request to the job that answers it: routed, selected, planned, and put on record. */
export interface Exchanges {
  /** The handler of one connection, whose exchanges it counts. */
  handlerFor(connection: number, clientAddress: string | undefined): Handler;
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
  /** Opens windows of the port, one after the other. */
  open(windows: readonly ListenFault[]): void;
  readonly chooser: Chooser;
  /** Where answers come from, of a proxy. */
  readonly proxy: ProxyAnswers | undefined;
  /** Recordings that answers are taken from. */
  readonly replay: Replay | undefined;
  /** Answers control requests; `undefined` where there are none on this port. */
  readonly control: ((request: Request, clientAddress: string | undefined) => Later<Job>) | undefined;
}

/** What of a request is known when it is answered. */
interface Asked {
  readonly head: RequestHead | undefined;
  readonly request: Request | undefined;
  readonly protocol: Protocol | undefined;
  readonly body: JsonObject;
}

const NOTHING: Asked = { head: undefined, request: undefined, protocol: undefined, body: {} };
/** A body that isn't read can't say what it wants. */
const UNREAD_BODY: JsonObject = { stream: true };

interface Planned {
  readonly plan: WirePlan;
  /** Instead of the plan, which is none then. */
  readonly passed?: PassedAnswer;
  /** Why there is another answer than the planned one. */
  readonly failed?: Outcome;
}

export function exchangesOf(deps: ExchangesDeps): Exchanges {
  const { options, books, emit, chooser } = deps;
  const answers = answersOf(options);
  const requests: RequestRecord[] = [];
  let dropped = 0;

  function exchange(
    choice: Choice,
    asked: Asked,
    where: { connection: number; onConnection: number },
    planned: Planned,
  ): Job {
    const { selection, generation, droppedLanes, state } = choice;
    const { attempt } = selection;
    const behavior = selection.kind === 'behavior' ? selection.behavior : EXHAUSTED;
    const scriptBehavior = selection.kind === 'behavior' ? selection.scripted : EXHAUSTED;
    const { head, request, protocol = '' } = asked;
    const path = head?.path ?? '';
    // Written out, here and below: a spread behind other properties costs half a microsecond (measured).
    const record: RequestRecord = {
      attempt,
      scriptBehavior,
      behavior,
      path,
      headers: head?.headers ?? {},
      body: asked.body,
      chunksSent: 0,
    };
    keep(record);
    emit({ type: 'request', attempt, scriptBehavior, behavior, path });
    const { connection, onConnection } = where;
    const book = books.open({
      exchange: choice.exchange,
      connection,
      onConnection,
      head,
      request,
      protocol,
      selection,
      generation,
      droppedLanes,
      state,
      plan: planned.plan,
    });
    const { plan } = book;
    // The plan as it was to be isn't kept by what follows.
    const { passed, failed } = planned;
    return {
      plan,
      play: passed?.play,
      onLast: () => {
        if (selection.kind === 'behavior' && selection.windows.length > 0) deps.open(selection.windows);
      },
      onWrite: book.onWrite,
      onTeardown: book.onTeardown,
      onEnd: (end, recorder, requestBytes) => {
        const came = passed?.came();
        const outcome = failed ?? came?.outcome ?? outcomeOf(end);
        record.chunksSent = eventsFlushed(came?.plan ?? plan, end.flushedBytes);
        record.outcome = outcome;
        const { chunksSent } = record;
        if (came?.why === undefined) {
          emit({ type: 'result', attempt, scriptBehavior, behavior, path, outcome, chunksSent });
        } else {
          emit({ type: 'result', attempt, scriptBehavior, behavior, path, outcome, chunksSent, reason: came.why });
        }
        const teardown = end.reached?.op === 'teardown' ? end.reached.kind : 'none';
        const goesOn = end.how === 'done' && (teardown === 'keep_alive' || teardown === 'eof');
        book.ended({ outcome, teardown, flushedBytes: end.flushedBytes, goesOn, requestBytes, came }, recorder);
      },
    };
  }

  function keep(record: RequestRecord): void {
    requests.push(record);
    if (requests.length <= deps.requestHistory) return;
    requests.shift();
    dropped++;
  }

  /** The answer to a request that gets none from the script. */
  function beside(routed: Exclude<Routed, { kind: 'turn' }>, { keepAlive, method, path }: RequestHead): Job {
    const headOnly = method === 'HEAD';
    switch (routed.kind) {
      case 'provider_error': {
        const reply = answers.error(routed.error, routed.reason, routed.protocol);
        emit({ type: 'rejected', status: reply.status, reason: routed.reason, path });
        return { plan: replyPlan(reply, { keepAlive }) };
      }
      case 'auxiliary':
        emit({ type: 'auxiliary', method, path, status: routed.reply.status });
        return { plan: replyPlan(routed.reply, { keepAlive, headOnly }) };
      case 'refused':
        emit({ type: 'rejected', status: routed.reply.status, reason: routed.reason, path });
        return { plan: replyPlan(routed.reply, { keepAlive, headOnly }) };
      default:
        return routed satisfies never;
    }
  }

  function handlerFor(connection: number, clientAddress: string | undefined): Handler {
    let onConnection = 0;
    let heads = 0;
    let answered = 0;
    /** Chosen at the heads of requests that are being read, by their number. */
    let reserved: Map<number, Choice | Away> | undefined;
    const reserve = (request: number, choice: Choice | Away): void => {
      reserved ??= new Map();
      reserved.set(request, choice);
    };
    /** When the connection was accepted, or the first byte of a request had come, nobody could be asked. */
    let away: Away | undefined;
    const here = () => ({ connection, onConnection: ++onConnection });

    function early(): Later<EarlyJob | undefined> {
      return after(chooser.at('accept', { connection }), (choice) => {
        away = choice?.kind === 'away' ? choice : undefined;
        if (choice?.kind !== 'chosen') return undefined;
        const { fault } = choice.selection;
        const job = exchange(choice, NOTHING, here(), { plan: earlyPlan(fault, options) });
        return { ...job, requestBytes: requestBytesOf(fault) ?? 0 };
      });
    }

    function head(request: RequestHead): Later<HeadDecision> {
      const number = ++heads;
      const protocol = routeHead(request, options);
      if (away) reserve(number, away);
      if (!protocol || away) {
        away = undefined;
        return 'read';
      }
      if (deps.replay?.lacks(protocol) !== undefined) return 'read';
      return after(chooser.at('head', { connection, head: request, protocol }), (choice): HeadDecision => {
        if (!choice) return 'read';
        if (choice.kind === 'away') {
          reserve(number, choice);
          return 'read';
        }
        const { selection } = choice;
        const { read = 'all', continue: interim = 'send' } = selection.fault.request ?? {};
        const refuses = interim === 'refuse' && request.expectsContinue;
        const early = requestBytesOf(selection.fault) !== undefined;
        if (read === 'all' && !refuses && !early) {
          reserve(number, choice);
          return interim === 'withhold' && request.expectsContinue ? 'withhold' : 'read';
        }
        const asked: Asked = { head: request, request: undefined, protocol, body: UNREAD_BODY };
        return exchange(choice, asked, here(), refuses ? { plan: expectationFailed() } : planOf(choice, asked));
      });
    }

    function answer(request: Request): Later<Job> {
      answered++;
      const kept = reserved?.get(answered);
      reserved?.delete(answered);
      if (deps.control && isControlPath(request.path)) return deps.control(request, clientAddress);
      const routed = route(request, options);
      if (routed.kind !== 'turn') {
        const material = () => answers.material(PLAIN, 'openai-chat', {});
        const other = deps.proxy?.beside(request, routed, material) ?? replayedBeside(request, routed, material);
        return other ?? beside(routed, request);
      }
      const { protocol, body: json } = routed;
      const lacking = deps.replay?.lacks(protocol);
      if (lacking !== undefined) return beside(notRecorded(lacking), request);
      const chosen = kept ?? chooser.request({ connection, head: request, protocol, body: request.body, json });
      return after(chosen, (choice): Job => {
        if (choice.kind === 'unknown') return beside(unknownFault(choice.message), request);
        if (choice.kind === 'away') return beside(stateAway(choice.reason), request);
        const asked: Asked = { head: request, request, protocol, body: json };
        return exchange(choice, asked, here(), planOf(choice, asked));
      });
    }

    return { early, head, request: answer };
  }

  /** A request beside the answers, where it was recorded; the key that --api-key sets is asked for here. */
  function replayedBeside(request: Request, routed: Routed, material: () => Material): Job | undefined {
    if (!deps.replay || (routed.kind === 'provider_error' && routed.error === 'auth_error')) return undefined;
    const plan = deps.replay.beside(request, { fault: {}, content: options, material: material() });
    if (!plan) return undefined;
    const { method, path } = request;
    emit({ type: 'auxiliary', method, path, status: statusIn(plan) });
    return { plan };
  }

  function planOf({ selection, generation }: Choice, asked: Asked): Planned {
    const { head, protocol, body } = asked;
    if (!head || !protocol) throw new Error('a request that was looked at has a head and a protocol');
    if (selection.kind === 'exhausted') {
      const reply = errorReply(500, 'MOCK_SCRIPT_EXHAUSTED', 'mock script exhausted');
      return { plan: replyPlan(reply, head), failed: 'server_error' };
    }
    try {
      // A fault that acts before there is a request, met by one that is there already: what is left of it.
      if (requestBytesOf(selection.fault) !== undefined) return { plan: earlyPlan(selection.fault, options) };
      if (deps.proxy && isPassed(selection.fault)) {
        if (!asked.request) throw new WirefaultError('plan_impossible', UNREAD);
        const { request } = asked;
        const material = answers.material(selection, protocol, body);
        return { plan: NO_PLAN, passed: deps.proxy.pass({ request, protocol, fault: selection.fault, material }) };
      }
      if (deps.replay && isPassed(selection.fault)) {
        const { fault, lane } = selection;
        const material = answers.material(selection, protocol, body);
        const told = { head, protocol, request: asked.request, body, lane, generation };
        return { plan: deps.replay.plan(told, { fault, content: options, material }) };
      }
      return { plan: answers.plan(selection, protocol, body, head) };
    } catch (thrown) {
      const unreached = thrown instanceof WirefaultError && thrown.code === 'plan_impossible';
      const reply = errorReply(500, 'PLAN_IMPOSSIBLE', messageOf(thrown));
      return { plan: replyPlan(reply, head), failed: unreached ? 'cut_unreached' : 'server_error' };
    }
  }

  return {
    handlerFor,
    requests,
    get dropped() {
      return dropped;
    },
  };
}

/** What a request gets that no fault is meant for. */
const PLAIN = {
  kind: 'behavior',
  lane: 'beside',
  attempt: 1,
  scripted: 'success',
  behavior: 'success',
  fault: {},
  source: 'script',
  windows: [],
} as const;

/** Of an answer that isn't known yet. */
const NO_PLAN: WirePlan = { bytes: Buffer.alloc(0), marks: [], steps: [], closes: false, unapplied: [] };

const UNREAD = "request.read head: the upstream can't be asked with a part of a request";
