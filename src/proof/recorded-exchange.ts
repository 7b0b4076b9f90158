import { isReset } from './differences.js';
import type { Endpoint } from './endpoints.js';
import type { Ledger } from './ledger.js';
import type { RecordedEnd, RecordedExchange } from './pcap-writer.js';

/** What a ledger and the stored bytes tell of an exchange, as `pcapOf` takes it. */
export function recordedExchange(ledger: Ledger, request: Buffer, response: Buffer): RecordedExchange {
  const { client, server, times } = ledger;
  const startMs = Date.parse(times.requestAt);
  const after = (ms: number | null): number => startMs + (ms ?? times.endMs);
  return {
    client: known(client),
    server: known(server),
    request: { atMs: startMs, bytes: request },
    response: [{ atMs: after(times.firstWriteMs), bytes: response }],
    end: endOf(ledger),
    endAtMs: after(times.teardownMs),
  };
}

function endOf({ teardown: { kind, first } }: Ledger): RecordedEnd {
  if (isReset(kind) && first !== 'client_rst') return 'server_rst';
  switch (first) {
    case 'server':
      return 'server_fin';
    case 'client_fin':
    case 'client_rst':
      return first;
    case null:
      return 'open';
    default:
      return first satisfies never;
  }
}

function known({ address, port }: Endpoint): { address: string; port: number } {
  return { address: address ?? '0.0.0.0', port: port ?? 0 };
}
