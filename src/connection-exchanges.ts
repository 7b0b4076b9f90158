import type { Asked as AskedOf, Unknown } from './asked.js';
import { isControlPath } from './control/commands.js';
import { expectationFailed, notRecorded, stateAway, unknownFault } from './exchange-ends.js';
import type { Planned } from './exchange-job.js';
import { earlyPlan } from './fault/early-plan.js';
import { requestBytesOf } from './fault/stage.js';
import type { Request, RequestHead } from './http/request.js';
import { type Routed, route, routeHead } from './http/routes.js';
import type { Later } from './later.js';
import type { ClientAddress, EarlyJob, Handler, HeadDecision, Job } from './net/job.js';
import type { ResolvedOptions } from './options.js';
import type { Replay } from './replay/replay.js';
import type { Away, Choice, Chooser, Chosen } from './selector.js';
import type { JsonObject, Protocol } from './sse/dialect.js';

/** What is known of a request when it is answered: what it was chosen by, and more. One object for both. */
export interface Asked extends AskedOf {
  readonly request?: Request;
  readonly json: JsonObject;
}

/** What the connections of a server share: who chooses, and who makes the answers. */
export interface AnswerSource {
  readonly options: ResolvedOptions;
  readonly chooser: Chooser;
  readonly replay: Replay | undefined;
  /** Answers control requests; `undefined` where there are none on this port. */
  readonly control: ((request: Request, clientAddress: string | undefined) => Later<Job>) | undefined;
  planOf(choice: Choice, asked: Asked): Planned;
  /**
   * Puts an exchange on record. `onConnection`: its number there, from 1; `requestBytes`: as many are read before it is
   * answered.
   */
  exchange(choice: Choice, asked: Asked, onConnection: number, planned: Planned, requestBytes: number): EarlyJob;
  /** The answer to a request that gets none from the script; of somebody else where there is one who has it. */
  beside(routed: NoTurn, request: Request): Job;
  /** The same, always wirefault's own. */
  ownBeside(routed: NoTurn, head: RequestHead): Job;
}

export type NoTurn = Exclude<Routed, { kind: 'turn' }>;

const NO_FIELDS: JsonObject = Object.freeze({});
/** A body that isn't read can't say what it wants. */
const UNREAD_BODY: JsonObject = { stream: true };

/** The exchanges of one connection, in their order. */
export class ConnectionExchanges implements Handler {
  private readonly shared: AnswerSource;
  private readonly connection: number;
  private readonly client: ClientAddress;
  private exchanges = 0;
  private heads = 0;
  private answered = 0;
  /** Chosen at the heads of requests that are being read, by their number. */
  private reserved: Map<number, Choice | Away> | undefined;
  /** When the connection was accepted, or the first byte of a request had come, nobody could be asked. */
  private away: Away | undefined;

  constructor(shared: AnswerSource, connection: number, client: ClientAddress) {
    this.shared = shared;
    this.connection = connection;
    this.client = client;
  }

  early(): Later<EarlyJob | undefined> {
    const chosen = this.shared.chooser.at('accept', { connection: this.connection });
    return chosen instanceof Promise ? this.acceptedLater(chosen) : this.accepted(chosen);
  }

  /** In a function of its own, as below: what a closure holds is made room for each time that the function around it is called. */
  private acceptedLater(chosen: Promise<Choice<Chosen> | Away | undefined>): Promise<EarlyJob | undefined> {
    return chosen.then((choice) => this.accepted(choice));
  }

  head(head: RequestHead): Later<HeadDecision> {
    const { shared, connection } = this;
    const number = ++this.heads;
    const protocol = routeHead(head, shared.options);
    if (this.away) this.reserve(number, this.away);
    if (!protocol || this.away) {
      this.away = undefined;
      return 'read';
    }
    if (shared.replay?.lacks(protocol) !== undefined) return 'read';
    const chosen = shared.chooser.at('head', { connection, head, protocol });
    return chosen instanceof Promise
      ? this.headDecisionLater(chosen, number, head, protocol)
      : this.headDecision(chosen, number, head, protocol);
  }

  private headDecisionLater(
    chosen: Promise<Choice<Chosen> | Away | undefined>,
    number: number,
    head: RequestHead,
    protocol: Protocol,
  ): Promise<HeadDecision> {
    return chosen.then((choice) => this.headDecision(choice, number, head, protocol));
  }

  request(request: Request): Later<Job> {
    const { shared, connection } = this;
    this.answered++;
    const kept = this.takeReserved(this.answered);
    if (shared.control && isControlPath(request.path)) return shared.control(request, this.client.remoteAddress);
    const routed = route(request, shared.options);
    if (routed.kind !== 'turn') return shared.beside(routed, request);
    const { protocol, body: json } = routed;
    const lacking = shared.replay?.lacks(protocol);
    if (lacking !== undefined) return shared.ownBeside(notRecorded(lacking), request);
    const asked: Asked = { connection, head: request, protocol, body: request.body, json, request };
    const chosen = kept ?? shared.chooser.request(asked);
    return chosen instanceof Promise ? this.turnLater(chosen, asked, request) : this.turn(chosen, asked, request);
  }

  private turnLater(chosen: Promise<Choice | Unknown | Away>, asked: Asked, request: Request): Promise<Job> {
    return chosen.then((choice) => this.turn(choice, asked, request));
  }

  private accepted(choice: Choice<Chosen> | Away | undefined): EarlyJob | undefined {
    this.away = choice?.kind === 'away' ? choice : undefined;
    if (choice?.kind !== 'chosen') return undefined;
    const { fault } = choice.selection;
    const planned = { plan: earlyPlan(fault, this.shared.options) };
    const asked: Asked = { connection: this.connection, json: NO_FIELDS };
    return this.shared.exchange(choice, asked, ++this.exchanges, planned, requestBytesOf(fault) ?? 0);
  }

  private headDecision(
    choice: Choice<Chosen> | Away | undefined,
    number: number,
    head: RequestHead,
    protocol: Protocol,
  ): HeadDecision {
    const { shared } = this;
    if (!choice) return 'read';
    if (choice.kind === 'away') {
      this.reserve(number, choice);
      return 'read';
    }
    const { fault } = choice.selection;
    const { read = 'all', continue: interim = 'send' } = fault.request ?? {};
    const refuses = interim === 'refuse' && head.expectsContinue;
    const early = requestBytesOf(fault) !== undefined;
    if (read === 'all' && !refuses && !early) {
      this.reserve(number, choice);
      return interim === 'withhold' && head.expectsContinue ? 'withhold' : 'read';
    }
    const asked: Asked = { connection: this.connection, head, protocol, json: UNREAD_BODY };
    const planned = refuses ? { plan: expectationFailed() } : shared.planOf(choice, asked);
    return shared.exchange(choice, asked, ++this.exchanges, planned, 0);
  }

  private turn(choice: Choice | Unknown | Away, asked: Asked, request: Request): Job {
    const { shared } = this;
    switch (choice.kind) {
      case 'unknown':
        return shared.ownBeside(unknownFault(choice.message), request);
      case 'away':
        return shared.ownBeside(stateAway(choice.reason), request);
      case 'chosen':
        return this.exchange(choice, asked);
      default:
        return choice satisfies never;
    }
  }

  private exchange(choice: Choice, asked: Asked): Job {
    const { shared } = this;
    const planned = shared.planOf(choice, asked);
    return shared.exchange(choice, asked, ++this.exchanges, planned, 0);
  }

  private takeReserved(request: number): Choice | Away | undefined {
    const { reserved } = this;
    if (!reserved || reserved.size === 0) return undefined;
    const kept = reserved.get(request);
    reserved.delete(request);
    return kept;
  }

  private reserve(request: number, choice: Choice | Away): void {
    this.reserved ??= new Map();
    this.reserved.set(request, choice);
  }
}
