import { WirefaultError } from '../errors.js';
import type { FaultServer, FaultServerOptions } from '../fault-server.js';
import type { Naming } from '../refused.js';
import { startNamed } from '../server.js';
import { upstreamOf } from './upstream.js';
import { UPSTREAM_OPTION_NAMES, type UpstreamOptions, upstreamTarget } from './upstream-options.js';

/** Options of a fault server whose answers come from somewhere else. */
export interface FaultProxyOptions extends FaultServerOptions, UpstreamOptions {}

/** A fault server that passes an upstream's answers on, with the faults of its script. */
export interface FaultProxy extends FaultServer {
  /** As it was given. */
  readonly upstream: string;
}

/**
 * Starts a proxy in front of `upstream`, the only server that it dials. Options that say what wirefault's own answers
 * say have no meaning for those that are passed on.
 * @throws WirefaultError `bad_option`, `bad_script`, `port_in_use` or `listen_failed`
 */
export function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  return startNamedProxy(options, (name) => name);
}

/** As `startFaultProxy`, with options called as the caller's user knows them. */
export async function startNamedProxy(given: FaultProxyOptions, naming: Naming): Promise<FaultProxy> {
  const isUpstream = (name: string): boolean => (UPSTREAM_OPTION_NAMES as readonly string[]).includes(name);
  const entries = Object.entries(given);
  const rest = Object.fromEntries(entries.filter(([name]) => !isUpstream(name)));
  if (given.upstream === undefined) {
    throw new WirefaultError('bad_option', `${naming('upstream')}: missing; expected the URL of the real server`);
  }
  if (given.replay !== undefined) {
    throw new WirefaultError(
      'bad_option',
      `${naming('replay')}: a proxy answers from its upstream; use serve to replay`,
    );
  }
  const upstream = upstreamOf(upstreamTarget(given, naming));
  const server = await startNamed(rest, naming, upstream);
  return Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(server),
      upstream: { value: upstream.target.url, enumerable: true },
    },
  ) as FaultProxy;
}
