import { answersOf, type Material } from './answers.js';
import { type AnswerSource, type Asked, ConnectionExchanges, type NoTurn } from './connection-exchanges.js';
import { messageOf, WirefaultError } from './errors.js';
import { EXHAUSTED, type ExchangeListener, type RequestRecord, type ServerEvent } from './events.js';
import { statusIn } from './exchange-ends.js';
import { ExchangeJob, type Planned } from './exchange-job.js';
import { earlyPlan } from './fault/early-plan.js';
import { replyPlan } from './fault/reply-plan.js';
import type { ListenFault } from './fault/script.js';
import { requestBytesOf } from './fault/stage.js';
import type { WirePlan } from './fault/wire-plan.js';
import { errorReply } from './http/reply.js';
import type { Request, RequestHead } from './http/request.js';
import type { Routed } from './http/routes.js';
import type { Later } from './later.js';
import type { ClientAddress, Handler, Job } from './net/job.js';
import type { ResolvedOptions } from './options.js';
import type { Bookkeeper } from './proof/bookkeeper.js';
import { isPassed, type ProxyAnswers } from './proxy/proxy-answers.js';
import type { Replay } from './replay/replay.js';
import type { Choice, Chooser } from './selector.js';
import type { JsonObject } from './sse/dialect.js';

/** From a request to the job that answers it: routed, selected, planned, and put on record. */
export interface Exchanges {
  /** The handler of one connection, whose exchanges it counts. */
  handlerFor(connection: number, client: ClientAddress): Handler;
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
  readonly told: ExchangeListener;
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

export function exchangesOf(deps: ExchangesDeps): Exchanges {
  const { options, books, emit, told } = deps;
  const answers = answersOf(options);
  const requests: RequestRecord[] = [];
  let dropped = 0;

  function exchange(
    choice: Choice,
    { connection, head, request, protocol, json }: Asked,
    onConnection: number,
    planned: Planned,
    requestBytes: number,
  ): ExchangeJob {
    const { selection, generation, droppedLanes, state } = choice;
    const { attempt } = selection;
    const behavior = selection.kind === 'behavior' ? selection.behavior : EXHAUSTED;
    const scriptBehavior = selection.kind === 'behavior' ? selection.scripted : EXHAUSTED;
    const path = head?.path ?? '';
    // Written out, here and below: a spread behind other properties costs half a microsecond (measured).
    const headers = head?.headers ?? {};
    const kept = deps.requestHistory > 0 ? json : NOTHING;
    const record: RequestRecord = {
      attempt,
      scriptBehavior,
      behavior,
      path,
      headers,
      body: kept,
      chunksSent: 0,
      outcome: undefined,
    };
    keep(record);
    told.onRequest(record);
    const book = books.open({
      exchange: choice.exchange,
      connection,
      onConnection,
      head,
      request,
      protocol: protocol ?? '',
      selection,
      generation,
      droppedLanes,
      state,
      plan: planned.plan,
    });
    return new ExchangeJob(deps, selection, record, book, planned, requestBytes);
  }

  function keep(record: RequestRecord): void {
    requests.push(record);
    if (requests.length <= deps.requestHistory) return;
    requests.shift();
    dropped++;
  }

  function ownBeside(routed: NoTurn, { keepAlive, method, path }: RequestHead): Job {
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

  function beside(routed: NoTurn, request: Request): Job {
    const material = () => answers.material(PLAIN, 'openai-chat', {});
    const other = deps.proxy?.beside(request, routed, material) ?? replayedBeside(request, routed, material);
    return other ?? ownBeside(routed, request);
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
    const { head, protocol, json: body } = asked;
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

  const { chooser, replay, control } = deps;
  const source: AnswerSource = { options, chooser, replay, control, planOf, exchange, beside, ownBeside };
  return {
    handlerFor: (connection, client) => new ConnectionExchanges(source, connection, client),
    requests,
    get dropped() {
      return dropped;
    },
  };
}

/** Of a request that no record is kept of. */
const NOTHING: JsonObject = {};

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
