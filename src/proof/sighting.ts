import { addressBytes } from './address.js';
import type { Endpoint } from './endpoints.js';
import type { Ledger } from './ledger.js';
import type { TcpConnection } from './tcp-streams.js';
import { receivedBytes, type WitnessRecord } from './witness-record.js';

/** What somebody other than the server saw of one connection. */
export interface Sighting {
  readonly kind: 'witness' | 'capture';
  /** Of the file. */
  readonly name: string;
  readonly client: Endpoint;
  readonly server: Endpoint;
  /** Since 1970, on the clock of who saw it. */
  readonly startedAtMs: number;
  /** From the server, from the first on, as far as their content is known. */
  readonly bytes: Buffer;
  readonly sentBytes: number;
  /** `null` where acknowledgments aren't seen, or packets are missing from the capture. */
  readonly ackedBytes: number | null;
  readonly end: SightedEnd;
}

export interface SightedEnd {
  /** Who sent the first FIN or RST; `null`: nobody. */
  readonly first: 'server' | 'client' | null;
  /** The bytes before the server's FIN; `null`: there was none. */
  readonly serverFinAt: number | null;
  readonly serverRst: boolean;
  /** `null`: not known. */
  readonly clientFin: boolean | null;
  readonly clientRst: boolean | null;
  /** The end wasn't watched. */
  readonly unknown: boolean;
}

/** `undefined` where there was no connection. */
export function witnessSighting(record: WitnessRecord, name: string): Sighting | undefined {
  if (record.local.port === null) return undefined;
  const bytes = receivedBytes(record);
  const byServer = record.end === 'fin' || record.end === 'rst';
  return {
    kind: 'witness',
    name,
    client: record.local,
    server: record.remote,
    startedAtMs: Date.parse(record.startedAt),
    bytes,
    sentBytes: bytes.length,
    ackedBytes: null,
    end: {
      first: byServer && !record.halfClose ? 'server' : 'client',
      serverFinAt: record.end === 'fin' ? bytes.length : null,
      serverRst: record.end === 'rst',
      clientFin: record.halfClose || null,
      // It resets nothing itself; but its kernel does where it goes with bytes unread.
      clientRst: byServer ? false : null,
      unknown: record.stopped,
    },
  };
}

export function captureSighting(connection: TcpConnection, name: string): Sighting {
  const { client, server, startedAtMs, toClient, toServer, first } = connection;
  return {
    kind: 'capture',
    name,
    client,
    server,
    startedAtMs,
    bytes: toClient.bytes,
    sentBytes: toClient.sentBytes,
    ackedBytes: toClient.complete ? toClient.ackedBytes : null,
    end: {
      first: first?.by ?? null,
      serverFinAt: toClient.finAt,
      serverRst: toClient.rstAt !== null,
      clientFin: toServer.finAt !== null,
      clientRst: toServer.rstAt !== null,
      unknown: false,
    },
  };
}

/** The exchanges of one connection, in their order on it. */
export interface LedgerConnection {
  readonly exchanges: readonly Ledger[];
}

export interface Matches {
  readonly matched: readonly { readonly connection: LedgerConnection; readonly sighting: Sighting }[];
  /** Sightings of connections that no ledger tells of. */
  readonly strangers: readonly Sighting[];
}

/** The clocks of a server and of who captures on another machine may differ by so much. */
const CLOCK_SLACK_MS = 1000;

/** Finds each sighting's connection by its addresses and ports; where these were used again, by the time. */
export function connectionsOf(ledgers: readonly Ledger[], sightings: readonly Sighting[]): Matches {
  const connections = new Map<string, Ledger[]>();
  for (const ledger of ledgers) {
    const { client, server, connection } = ledger;
    // A journal may hold several runs of the server, each of which counts from 1.
    const key = [connection, client.address, client.port, server.port].join(' ');
    const exchanges = connections.get(key);
    if (exchanges) exchanges.push(ledger);
    else connections.set(key, [ledger]);
  }
  for (const exchanges of connections.values()) exchanges.sort((a, b) => a.connectionOffset - b.connectionOffset);
  const byPort = new Map<number | null, Ledger[][]>();
  for (const exchanges of connections.values()) {
    const port = exchanges[0]?.client.port ?? null;
    const others = byPort.get(port);
    if (others) others.push(exchanges);
    else byPort.set(port, [exchanges]);
  }

  const matched: Matches['matched'][number][] = [];
  const strangers: Sighting[] = [];
  for (const sighting of sightings) {
    const candidates = (byPort.get(sighting.client.port) ?? []).filter(([ledger]) => ledger && meets(ledger, sighting));
    const exchanges =
      candidates.length === 1
        ? candidates[0]
        : candidates
            .filter((candidate) => beginning(candidate) >= sighting.startedAtMs - CLOCK_SLACK_MS)
            .toSorted((a, b) => beginning(a) - beginning(b))[0];
    if (exchanges) matched.push({ connection: { exchanges }, sighting });
    else strangers.push(sighting);
  }
  return { matched, strangers };
}

function meets({ client, server }: Ledger, sighting: Sighting): boolean {
  return sameEndpoint(client, sighting.client) && sameEndpoint(server, sighting.server);
}

function sameEndpoint(a: Endpoint, b: Endpoint): boolean {
  if (a.port === null || a.port !== b.port) return false;
  const [first, second] = [addressBytes(a.address ?? undefined), addressBytes(b.address ?? undefined)];
  return first !== undefined && second !== undefined && first.equals(second);
}

function beginning(exchanges: readonly Ledger[]): number {
  return Date.parse(exchanges[0]?.times.requestAt ?? '');
}
