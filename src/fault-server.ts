import type { RequestRecord, ServerEvent } from './events.js';
import type { Rule } from './fault/rule-list.js';
import type { RuleSpec } from './fault/rules.js';
import type { GivenOptions } from './options.js';
import type { EvidenceSource } from './proof/counters.js';
import type { Ledger } from './proof/ledger.js';
import type { ServerRules } from './server-state.js';
import type { Finding } from './trial/findings.js';

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
  /** Where `/__control` and its like are; `undefined` without a control plane. */
  readonly controlURL: string | undefined;
  /** The seed of `random` and of the answers' ids, given or generated. */
  readonly randomSeed: number;
  /** Accepted requests in the order of their arrival, live; the newest `requestHistory` of them. */
  readonly requests: readonly RequestRecord[];
  /** Accepted requests that `requests` no longer holds. */
  readonly droppedRequests: number;
  /** Where the byte counts of the ledgers come from. */
  readonly evidence: EvidenceSource;
  /** What the recorder saw of each exchange up to now, the newest `ledgerHistory`, in the order in which they settled. */
  readonly ledgers: readonly Ledger[];
  /**
   * The ledger of an exchange, counted from 1 in the order of the requests; resolves once it has settled.
   * @throws WirefaultError `no_ledger` where none can come: it was dropped, none are kept, or the server is closed
   */
  ledger(exchange: number): Promise<Ledger>;
  /** Each ledger from now on, as it settles; ends when the server is closed. */
  followLedgers(): AsyncIterableIterator<Ledger>;
  /** What the kept ledgers tell about the clients' manners: retries without pauses, sockets used again and the like. */
  findings(): Finding[];
  /** Resolves when no exchange is under way and every ledger is settled, and written where there is a journal. */
  idle(): Promise<void>;
  /** Resolves when the port accepts connections: at once, or at the end of a refusal window. */
  whenListening(): Promise<void>;
  /** The rules in force, in the order in which they are tested. */
  readonly rules: readonly Rule[];
  /** The newest rules that were used up, the last one last. */
  readonly spentRules: readonly Rule[];
  /**
   * Adds a rule. It is tested, counted and gone in one step, by the request that meets it. One for every request without
   * `once` or `times` is the default, of which there is one.
   * @throws WirefaultError `bad_script`
   */
  inject(rule: RuleSpec): Rule;
  /** Whether there was such a rule. */
  removeRule(id: number): boolean;
  clearRules(): void;
  /** Starts all scripts anew, as a new generation whose number is returned; answers in flight keep theirs, rules stay. */
  reset(): number;
  /** The same of a server with `state`, whose rules and lanes are those of others, too; `undefined` without. */
  readonly shared: ServerRules | undefined;
  /** Closes the port for `ms`, in this very tick. */
  refuse(ms: number): void;
  /** Lets `count` exchanges (default 1) through a gate, those that wait or the next that come; `Infinity` opens it for good. */
  release(gate: string, count?: number): void;
  /** Resolves when `count` exchanges (default 1) wait at a gate. */
  waitingAt(gate: string, count?: number): Promise<void>;
  /** Stops listening and ends all connections, stalled ones too. May be called again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
