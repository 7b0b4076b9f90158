import type { EvidenceSource } from './proof/counters.js';

/** How one accepted request ended, seen from the server. */
export type Outcome =
  /** The scripted answer was played to its end. */
  | 'completed'
  /** The scripted reset was made. */
  | 'reset'
  /** The scripted FIN was sent in the middle of the answer. */
  | 'closed'
  /** The scripted silence lasted until the client or the server closed. */
  | 'stalled'
  /** The client went before the scripted end. */
  | 'client_closed'
  /** The server was closed before the scripted end. */
  | 'server_closed'
  /** The answer has no such position: the client got a 500 that says so. */
  | 'cut_unreached'
  /** The script was exhausted, or the answer could not be made: the client got a 500. */
  | 'server_error'
  /** A proxy's upstream could not be connected to: nobody listens there, or no way leads there. */
  | 'upstream_refused'
  /** There was no TLS with the upstream: another certificate than was expected, or none. */
  | 'upstream_tls'
  /** The upstream was silent for too long. */
  | 'upstream_timeout'
  /** The upstream reset the connection before its answer was whole. */
  | 'upstream_reset'
  /** The upstream closed the connection before its answer was whole. */
  | 'upstream_closed'
  /** What the upstream sent is no HTTP; it was passed on as it was. */
  | 'upstream_invalid';

export const EXHAUSTED = 'script_exhausted';

interface Exchange {
  /** Accepted requests, counted from 1. */
  readonly attempt: number;
  /** The word in the sequence, `random` perhaps; `script_exhausted`. */
  readonly scriptBehavior: string;
  /** What was played. */
  readonly behavior: string;
  /** Empty where the fault came before a request was read. */
  readonly path: string;
}

/** What happens, as it happens. */
export type ServerEvent =
  /** The port refuses connections, or leaves them unanswered: for `delayMs` from now, or until `attempts` were refused. */
  | {
      readonly type: 'unavailable';
      readonly baseURL: string;
      readonly delayMs?: number;
      readonly attempts?: number;
      readonly blackhole?: true;
    }
  /** The port accepts connections, for the first time. */
  | {
      readonly type: 'ready';
      readonly baseURL: string;
      /** Where `/__control` and its like are; absent without a control plane. */
      readonly controlURL?: string;
      readonly randomSeed: number;
      readonly evidence: EvidenceSource;
      readonly version: string;
    }
  /** The port accepts connections again after a refusal window. */
  | { readonly type: 'available'; readonly baseURL: string }
  /** The port could not be opened again after a refusal window. */
  | { readonly type: 'listen_failed'; readonly reason: string }
  /** Ledgers are being lost, since the journal can't be written; at the end once more, with the number of all. */
  | { readonly type: 'journal_failed'; readonly reason: string; readonly lostLines: number }
  /**
   * The state that several servers share can't be asked: requests get 503, or what the state of this server gives.
   * `underWay`: requests for which it was being asked, and may have taken a fault that nobody gets.
   */
  | { readonly type: 'state_lost'; readonly reason: string; readonly underWay: number }
  | { readonly type: 'state_back' }
  /** It has come back with nothing in it: the scripts begin anew, and the rules are those of the start. */
  | { readonly type: 'state_fresh'; readonly generation: number }
  /** It has taken a fault for a request that had been answered without it. */
  | { readonly type: 'state_late'; readonly attempt: number; readonly exchange: number }
  /** One of several processes has ended; another takes its place. What it was answering is lost, as the journal tells. */
  | {
      readonly type: 'worker_lost';
      readonly worker: number;
      readonly reason: string;
      readonly lostExchanges: number;
    }
  /** The bytes of exchanges can't be stored. */
  | { readonly type: 'capture_failed'; readonly reason: string }
  /** What the upstream of a proxy answers can't be stored. */
  | { readonly type: 'record_failed'; readonly reason: string }
  /** At the start: the certificate of a proxy's upstream isn't checked, so whoever is in between reads keys and answers. */
  | { readonly type: 'upstream_insecure'; readonly upstream: string }
  | ({ readonly type: 'request' } & Exchange)
  /** `reason`: what a proxy's upstream did, or why the fault could not be played on its answer. */
  | ({
      readonly type: 'result';
      readonly outcome: Outcome;
      readonly chunksSent: number;
      readonly reason?: string;
    } & Exchange)
  /** A request beside the answers (models, token counts, health), which consumes nothing from the script. */
  | { readonly type: 'auxiliary'; readonly method: string; readonly path: string; readonly status: number }
  /** A request to the control plane. */
  | { readonly type: 'control'; readonly method: string; readonly path: string; readonly status: number }
  /** What a fault did to a connection behind its answer. */
  | {
      readonly type: 'idle_fault';
      readonly connection: number;
      /** `armed`: the next byte of the client's ends it. */
      readonly did: 'stray' | 'armed' | 'fin' | 'rst';
      readonly when: 'idle' | 'request';
    }
  /** Something that consumed nothing from the script: not HTTP, not a known path, a wrong key. */
  | { readonly type: 'rejected'; readonly status: number; readonly reason: string; readonly path?: string };

/** One accepted request, as it is now. */
export interface RequestRecord extends Exchange {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The parsed JSON body; an empty object where the body was empty. Records of requests with the same bytes may share
   * one, which is frozen.
   */
  readonly body: unknown;
  /** Events of the stream whose last byte the kernel has taken; 0 for a JSON body. */
  chunksSent: number;
  /** `undefined` while the exchange is going on. */
  outcome: Outcome | undefined;
}

/** Who is told of exchanges. */
export interface ExchangeListener {
  /** A request was accepted. */
  onRequest(record: RequestRecord): void;
  /** Its exchange has ended. `reason`: as an event tells it. */
  onResult(record: RequestRecord, outcome: Outcome, reason: string | undefined): void;
}
