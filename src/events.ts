import type { PlayedWord, ScriptWord } from './fault/word.js';
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
  /** The script was exhausted, or the answer could not be made: the client got a 500. */
  | 'server_error';

export type Scripted = ScriptWord | 'script_exhausted';
export type Concrete = PlayedWord | 'script_exhausted';

interface Exchange {
  /** Accepted requests, counted from 1. */
  readonly attempt: number;
  /** The word in the sequence, `random` perhaps. */
  readonly scriptBehavior: Scripted;
  /** What was played. */
  readonly behavior: Concrete;
  readonly path: string;
}

/** What happens, as it happens. */
export type ServerEvent =
  /** The port refuses connections for `delayMs` from now. */
  | { readonly type: 'unavailable'; readonly baseURL: string; readonly delayMs: number }
  /** The port accepts connections, for the first time. */
  | {
      readonly type: 'ready';
      readonly baseURL: string;
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
  /** The bytes of exchanges can't be stored. */
  | { readonly type: 'capture_failed'; readonly reason: string }
  | ({ readonly type: 'request' } & Exchange)
  | ({ readonly type: 'result'; readonly outcome: Outcome; readonly chunksSent: number } & Exchange)
  /** A request beside the answers (models, token counts, health), which consumes nothing from the script. */
  | { readonly type: 'auxiliary'; readonly method: string; readonly path: string; readonly status: number }
  /** Something that consumed nothing from the script: not HTTP, not a known path, a wrong key. */
  | { readonly type: 'rejected'; readonly status: number; readonly reason: string; readonly path?: string };

/** One accepted request, as it is now. */
export interface RequestRecord extends Exchange {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON body; an empty object where the body was empty. */
  readonly body: unknown;
  /** Events of the stream whose last byte the kernel has taken; 0 for a JSON body. */
  chunksSent: number;
  /** Absent while the exchange is going on. */
  outcome?: Outcome;
}
