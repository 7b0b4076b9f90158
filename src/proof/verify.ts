import { comparison, type Difference, differencesOf, type Parted, partedAt, type Seen } from './differences.js';
import type { Ledger } from './ledger.js';
import { connectionsOf, type LedgerConnection, type Sighting } from './sighting.js';

/**
 * Checks ledgers against what somebody else saw: a witness, or a packet capture. Pure.
 *
 * What is seen of an exchange has to be a prefix of what was written, at least as long as what the ledger calls read or
 * acknowledged, and at most as long as what it calls flushed; and the connection has to end as it says.
 */
export interface Verdict {
  readonly exchange: number;
  readonly connection: number;
  readonly behavior: string;
  readonly teardown: string;
  /** The file that it was checked against. */
  readonly against: string;
  readonly seenBytes: number;
  /** How the bytes were compared: one by one, all by their hash, or not at all for want of something to compare with. */
  readonly compared: 'bytes' | 'sha256' | 'length';
  /** Of a proxy, where the upstream's bytes are stored: the first at which the client was sent another one. */
  readonly parted?: Parted | null;
  /** Worst first; none where all agrees. */
  readonly differences: readonly Difference[];
}

export interface Report {
  readonly verdicts: readonly Verdict[];
  /** Exchanges of the journal that nobody saw. */
  readonly unseen: readonly number[];
  /** Witness files whose connection isn't in the journal. */
  readonly strangers: readonly string[];
  /** Something was checked, and nothing differs. */
  readonly agrees: boolean;
}

/**
 * @param answerOf the stored bytes of an exchange's answer, where there are any
 * @param upstreamOf those of a proxy's upstream
 */
export function verify(
  ledgers: readonly Ledger[],
  sightings: readonly Sighting[],
  answerOf: (ledger: Ledger) => Buffer | undefined,
  upstreamOf: (ledger: Ledger) => Buffer | undefined = () => undefined,
): Report {
  const connections = connectionsOf(ledgers, sightings);
  const verdicts = connections.matched
    .flatMap(({ connection, sighting }) => verdictsOf(connection, sighting, answerOf, upstreamOf))
    .toSorted((a, b) => a.exchange - b.exchange);
  const seen = new Set(connections.matched.flatMap(({ connection }) => connection.exchanges));
  const strangers = connections.strangers.filter(({ kind }) => kind === 'witness').map(({ name }) => name);
  return {
    verdicts,
    unseen: ledgers.filter((ledger) => !seen.has(ledger)).map(({ exchange }) => exchange),
    strangers,
    agrees:
      verdicts.length > 0 && strangers.length === 0 && verdicts.every(({ differences }) => differences.length === 0),
  };
}

function verdictsOf(
  { exchanges }: LedgerConnection,
  sighting: Sighting,
  answerOf: (ledger: Ledger) => Buffer | undefined,
  upstreamOf: (ledger: Ledger) => Buffer | undefined,
): Verdict[] {
  return exchanges.map((ledger, n) => {
    const start = ledger.connectionOffset;
    const end = exchanges[n + 1]?.connectionOffset ?? Number.POSITIVE_INFINITY;
    const part = (count: number): number => Math.max(0, Math.min(count, end) - start);
    const seen: Seen = {
      ledger,
      sighting,
      bytes: sighting.bytes.subarray(start, Math.min(end, sighting.bytes.length)),
      length: part(sighting.sentBytes),
      acked: sighting.ackedBytes === null ? null : part(sighting.ackedBytes),
      last: end === Number.POSITIVE_INFINITY,
      answer: answerOf(ledger),
    };
    const upstream = upstreamOf(ledger);
    return {
      exchange: ledger.exchange,
      connection: ledger.connection,
      behavior: ledger.selection.behavior,
      teardown: ledger.teardown.kind,
      against: sighting.name,
      seenBytes: Math.min(seen.length, ledger.bytes.flushed),
      compared: comparison(seen),
      ...(upstream && seen.answer ? { parted: partedAt(seen.answer, upstream) } : {}),
      differences: differencesOf(seen, upstream),
    };
  });
}
