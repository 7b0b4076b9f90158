import { LRUCache } from 'lru-cache';
import type { Lease } from '../slabs.js';
import { redactRawRequest } from './redact.js';

/** The bytes of the newest exchanges, in memory, as far as they fit. */
export interface ByteStore {
  readonly maxBytes: number;
  /** `lease`: of the memory of `response`, held as long as it is kept. */
  store(exchange: number, request: Buffer, response: Buffer, lease?: Lease): void;
  /** Of the response only so many bytes were sent, where it is still here. */
  trim(exchange: number, responseBytes: number): void;
  /** A copy: the memory is used again. */
  get(exchange: number, of: 'request' | 'response'): Buffer | undefined;
}

interface Kept {
  readonly request: Buffer;
  readonly response: Buffer;
  readonly lease: Lease | undefined;
}

export interface ByteStoreOptions {
  readonly maxBytes: number;
  readonly maxExchanges: number;
  /** Keys are redacted when they are asked for. */
  readonly redact: boolean;
}

export function byteStore(options: ByteStoreOptions): ByteStore {
  const kept = new LRUCache<number, Kept>({
    max: options.maxExchanges,
    maxSize: options.maxBytes,
    // Even nothing takes room, or nothing would ever go.
    sizeCalculation: ({ request, response }) => request.length + response.length + 64,
    dispose: ({ lease }) => lease?.letGo(),
  });
  return {
    maxBytes: options.maxBytes,
    store: (exchange, request, response, lease) => {
      lease?.hold();
      kept.set(exchange, { request, response, lease });
    },
    trim: (exchange, responseBytes) => {
      const known = kept.peek(exchange);
      if (!known || known.response.length <= responseBytes) return;
      const { request, response, lease } = known;
      lease?.hold();
      kept.set(exchange, { request, response: response.subarray(0, responseBytes), lease });
    },
    get: (exchange, of) => {
      const bytes = kept.peek(exchange)?.[of];
      if (!bytes) return undefined;
      return of === 'request' && options.redact ? redactRawRequest(bytes) : Buffer.from(bytes);
    },
  };
}
