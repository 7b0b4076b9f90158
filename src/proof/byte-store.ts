import { LRUCache } from 'lru-cache';
import { redactRawRequest } from './redact.js';

/** The bytes of the newest exchanges, in memory, as far as they fit. */
export interface ByteStore {
  readonly maxBytes: number;
  store(exchange: number, request: Buffer, response: Buffer): void;
  /** Of the response only so many bytes were sent, where it is still here. */
  trim(exchange: number, responseBytes: number): void;
  get(exchange: number, of: 'request' | 'response'): Buffer | undefined;
}

interface Kept {
  readonly request: Buffer;
  readonly response: Buffer;
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
  });
  return {
    maxBytes: options.maxBytes,
    store: (exchange, request, response) => kept.set(exchange, { request, response }),
    trim: (exchange, responseBytes) => {
      const known = kept.peek(exchange);
      if (!known || known.response.length <= responseBytes) return;
      kept.set(exchange, { request: known.request, response: known.response.subarray(0, responseBytes) });
    },
    get: (exchange, of) => {
      const bytes = kept.peek(exchange)?.[of];
      return bytes && of === 'request' && options.redact ? redactRawRequest(bytes) : bytes;
    },
  };
}
