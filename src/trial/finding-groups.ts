import type { FindingKind } from './finding-rules.js';
import type { Finding } from './findings.js';
import type { RanCell } from './results.js';

/** One kind of finding of one client, over all of its runs. */
export interface FindingGroup {
  readonly client: string;
  readonly kind: FindingKind;
  /** Those that have it, in the order in which they were run. */
  readonly runs: readonly RanCell[];
  readonly first: Finding;
}

/** In the order of the clients, and of each in the order in which they were seen. Pure. */
export function findingGroups(runs: readonly RanCell[]): FindingGroup[] {
  const groups = new Map<string, FindingGroup>();
  for (const run of runs) {
    const kinds = new Set<FindingKind>();
    for (const finding of run.findings) {
      if (kinds.has(finding.kind)) continue;
      kinds.add(finding.kind);
      const key = `${run.client}\n${finding.kind}`;
      const known = groups.get(key);
      const first = known?.first ?? finding;
      groups.set(key, { client: run.client, kind: finding.kind, first, runs: [...(known?.runs ?? []), run] });
    }
  }
  const order = [...new Set(runs.map(({ client }) => client))];
  return [...groups.values()].toSorted((a, b) => order.indexOf(a.client) - order.indexOf(b.client));
}
