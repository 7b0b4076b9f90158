import type { Selection } from '../fault/script.js';
import type { WirePlan } from '../fault/wire-plan.js';
import type { Request, RequestHead } from '../http/request.js';
import type { BodyFacts, Intent } from './account.js';
import type { ByteStore } from './byte-store.js';
import type { Capture } from './capture.js';
import type { EvidenceSource } from './counters.js';
import type { UpstreamAccount } from './ledger.js';
import type { OwedLedger } from './owed-ledger.js';
import type { ByteCounts, ExchangeRecorder } from './recorder.js';

/** The books of one exchange, from its request to the ledger that can be made of it. */
export interface Entry {
  readonly connection: number;
  readonly onConnection: number;
  /** `undefined` where the fault came before it was read. */
  readonly head: RequestHead | undefined;
  /** `undefined` where it was not read whole. */
  readonly request: Request | undefined;
  /** What is kept of its body instead of the request. */
  readonly body?: BodyFacts | undefined;
  /** Empty where it is not known. */
  readonly protocol: string;
  readonly selection: Selection;
  readonly generation: number;
  readonly droppedLanes: number;
  /** Its number, where exchanges of several processes are counted together. */
  readonly exchange?: number | undefined;
  /** Which state its fault was taken from, where there is a shared one. */
  readonly state?: 'shared' | 'local' | undefined;
  readonly plan: WirePlan;
  /** `undefined` where no upstream was asked. */
  readonly upstream?: undefined;
}

/** What an answer from somewhere else came to be, which isn't known before it has ended. */
export interface CameToBe {
  /** Without its bytes. */
  readonly plan: WirePlan;
  readonly intent: Intent;
  readonly upstream: UpstreamAccount;
  /** What the upstream sent, where bytes are kept. */
  readonly upstreamBytes?: readonly Buffer[];
}

export interface OpenExchange {
  /** The plan, whose bytes may end where nothing more is written. */
  readonly plan: WirePlan;
  onWrite(segment: Buffer): void;
  onTeardown(): void;
  /** Nothing more is written: bytes that nobody asks for any more are given up. `taken`: the kernel has all that was. */
  onRest(taken: boolean): void;
  /** The play has ended: the evidence is settled in the background. */
  ended(end: ExchangeEnd, recorder: ExchangeRecorder): void;
}

export interface ExchangeEnd {
  readonly outcome: string;
  readonly teardown: string;
  readonly flushedBytes: number;
  /** Nothing has ended the connection. */
  readonly goesOn: boolean;
  /** Read of a request that was not looked at. */
  readonly requestBytes: number;
  /** Instead of the plan that was given when the books were opened. */
  readonly came?: CameToBe | undefined;
}

/** What the books of all exchanges are kept with. */
export interface HowKept {
  readonly evidence: EvidenceSource;
  readonly redact: boolean;
  /** Whether answers are told in numbered paragraphs. */
  readonly contentBlocks: boolean;
  readonly settleTimeoutMs: number;
  readonly timeScale: number;
  readonly capture: Capture | undefined;
  /** The newest exchanges' bytes, where somebody may ask for them. */
  readonly bytes: ByteStore | undefined;
  /** Told of the bytes of each exchange, as it is settled. */
  onBytes?(bytes: ByteCounts, lost: number | null): void;
}

export interface ExchangeBooks extends HowKept {
  /** Whether there will be ledgers. */
  readonly wanted: boolean;
  /** Counts whole answers by their key; returns the count with this one. */
  countDelivered(key: string, whole: boolean): number;
  /** The ledger can be made; `now`: it is made at once. */
  settle(exchange: number, owed: OwedLedger, now: boolean): void;
  /** Nothing more will come of this exchange. */
  close(exchange: number): void;
}
