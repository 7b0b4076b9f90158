import { LRUCache } from 'lru-cache';
import { redactRawRequest } from './redact.js';

/** The bytes of the newest exchanges, in memory, as far as they fit. */
export interface ByteStore {
  readonly maxBytes: number;
  store(exchange: number, request: Buffer, response: Buffer): void;
  get(exchange: number, of: 'request' | 'response'): Buffer | undefined;
}

interface Kept {
  readonly request: Buffer;
  readonly response: Buffer;
}

/** Keys are redacted when they are asked for, unless `redact` is false. */
export function byteStore(options: { readonly maxBytes: number; readonly redact: boolean }): ByteStore {
  const kept = new LRUCache<number, Kept>({
    maxSize: options.maxBytes,
    // Even nothing takes room, or nothing would ever go.
    sizeCalculation: ({ request, response }) => request.length + response.length + 64,
  });
  return {
    maxBytes: options.maxBytes,
    store: (exchange, request, response) => kept.set(exchange, { request, response }),
    get: (exchange, of) => {
      const bytes = kept.peek(exchange)?.[of];
      return bytes && of === 'request' && options.redact ? redactRawRequest(bytes) : bytes;
    },
  };
}
