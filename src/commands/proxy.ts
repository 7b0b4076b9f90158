import type { Command } from 'commander';
import { startNamedProxy } from '../proxy/proxy.js';
import {
  DEFAULT_MAX_BUFFER_BYTES,
  ON_UPSTREAM_ERROR,
  type UpstreamOptionName,
  type UpstreamOptions,
} from '../proxy/upstream-options.js';
import { flagOf, numberOf } from './flags.js';
import { addServingFlags, runServing, type ServingFlags } from './serving.js';

/** `wirefault proxy`: the flags of `serve`, and those of the upstream. */
interface ProxyFlags extends ServingFlags {
  readonly upstream: string;
}

/** A flag of an option of the library's, called as it is. */
interface UpstreamFlag {
  /** Absent where the flag itself says yes. */
  readonly argument?: string;
  readonly meaning: string;
  /** Of the text that was given. What isn't allowed is refused by the library. Default: the text itself */
  readonly read?: (text: string) => unknown;
}

const UPSTREAM_FLAGS: Readonly<Record<Exclude<UpstreamOptionName, 'upstream'>, UpstreamFlag>> = {
  upstreamKeyEnv: {
    argument: '<name>',
    meaning: "environment variable with the key that takes the place of the client's",
  },
  decode: { meaning: 'ask for answers that are not compressed, so that they have events' },
  onUpstreamError: {
    argument: '<how>',
    meaning: `what a client gets where the upstream fails before it answers: ${ON_UPSTREAM_ERROR.join(' (a reset) or ')} (default: mirror)`,
  },
  upstreamCa: { argument: '<file>', meaning: "certificates (PEM) of who may sign the upstream's" },
  upstreamCert: { argument: '<file>', meaning: 'own certificate (PEM), for an upstream that asks for one' },
  upstreamKey: { argument: '<file>', meaning: 'its key (PEM)' },
  upstreamInsecure: { meaning: "don't check the upstream's certificate" },
  upstreamTimeoutMs: {
    argument: '<ms>',
    meaning: 'silence of the upstream after which it is given up; 0: never (default: 0)',
    read: numberOf,
  },
  maxBufferBytes: {
    argument: '<n>',
    meaning: `largest answer that is kept whole, for faults that need it whole (default: ${DEFAULT_MAX_BUFFER_BYTES})`,
    read: numberOf,
  },
  record: { argument: '<dir>', meaning: 'store each exchange with the upstream, keys redacted, for serve --replay' },
};

const HELP = `
The upstream's answers pass byte for byte as they come; faults act on them at the same positions as in serve, and hold
back no more than the element that has to be known (an event that may be the terminal, say). What needs the whole answer
(half, the last of some events, bytes put in, another framing) waits for it, and its ledger says so. What an answer says
is the upstream's matter: faults that answer by themselves (rate_limit, html_200) don't ask it. Nothing but the upstream
is ever dialled. Its key never reaches a ledger; --redact hides the client's.

  wirefault proxy --upstream https://api.openai.com --sequence rst@event:3,success
  wirefault proxy --upstream http://127.0.0.1:9000 --decode --upstream-key-env OPENAI_API_KEY`;

export function addProxyCommand(root: Command): void {
  const command = root
    .command('proxy')
    .description("pass a real server's answers on, with the same faults")
    .allowExcessArguments()
    .optionsGroup('Options of the upstream:')
    .requiredOption('--upstream <url>', 'the real server: https://api.example.com, perhaps with a path');
  for (const [name, { argument, meaning }] of Object.entries(UPSTREAM_FLAGS))
    command.option(argument === undefined ? flagOf(name) : `${flagOf(name)} ${argument}`, meaning);
  addServingFlags(command.optionsGroup('Options of serve:'));
  command
    .addHelpText('after', HELP)
    .action((flags: ProxyFlags & Record<string, unknown>, own: Command) =>
      runServing(flags, own, (given) => startNamedProxy({ ...given, ...upstreamOf(flags) }, flagOf)),
    );
}

function upstreamOf(flags: ProxyFlags & Record<string, unknown>): UpstreamOptions {
  const given = Object.entries(UPSTREAM_FLAGS).flatMap(([name, { read }]) => {
    const value = flags[name];
    return value === undefined ? [] : [[name, read && typeof value === 'string' ? read(value) : value] as const];
  });
  return { upstream: flags.upstream, ...Object.fromEntries(given) };
}
