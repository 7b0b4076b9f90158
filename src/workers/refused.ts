import { WirefaultError } from '../errors.js';
import type { ResolvedOptions } from '../options.js';
import type { Naming } from '../refused.js';

/** Why `/__refuse` is answered with 409. */
export const NO_REFUSAL =
  "the port can't be closed for a while: several workers listen on it; use one process for that (no --workers)";

/**
 * What several processes can't do as one would is refused before they are started, rather than done by halves.
 * @throws WirefaultError `bad_option`
 */
export function refuseWithWorkers(options: ResolvedOptions, naming: Naming): void {
  const scripts = [options.script, ...options.lanes.values()];
  const windows = scripts.flatMap(({ leading, entries }) => [...leading, ...entries.flatMap((entry) => entry.windows)]);
  const refused = (why: string): WirefaultError => new WirefaultError('bad_option', `${naming('workers')}: ${why}`);
  if (windows.length > 0) {
    throw refused(
      `${naming('sequence')} closes the port for a while, which several workers listen on; use one process`,
    );
  }
  if (options.replay !== undefined) {
    throw refused(`${naming('replay')} goes through its recordings in order, which one process can; use one process`);
  }
  if (options.stateFallback === 'local') {
    throw refused(`${naming('stateFallback')} local would be another state in each worker; use none, or one process`);
  }
}
