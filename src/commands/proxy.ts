import type { Command } from 'commander';
import { startNamedProxy } from '../proxy/proxy.js';
import type { OnUpstreamError } from '../proxy/upstream-options.js';
import { flagOf, numberOf } from './flags.js';
import { addServingFlags, runServing, type ServingFlags } from './serving.js';

/** `wirefault proxy`: the flags of `serve`, and those of the upstream. */
interface ProxyFlags extends ServingFlags {
  readonly upstream: string;
  readonly upstreamKeyEnv?: string;
  readonly decode?: true;
  readonly onUpstreamError?: string;
  readonly upstreamCa?: string;
  readonly upstreamCert?: string;
  readonly upstreamKey?: string;
  readonly upstreamInsecure?: true;
  readonly upstreamTimeoutMs?: string;
}

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
    .requiredOption('--upstream <url>', 'the real server: https://api.example.com, perhaps with a path')
    .option('--upstream-key-env <name>', "environment variable with the key that takes the place of the client's")
    .option('--decode', 'ask for answers that are not compressed, so that they have events')
    .option(
      '--on-upstream-error <how>',
      'what a client gets where the upstream fails before it answers: mirror (a reset) or 502 (default: mirror)',
    )
    .option('--upstream-ca <file>', "certificates (PEM) of who may sign the upstream's")
    .option('--upstream-cert <file>', 'own certificate (PEM), for an upstream that asks for one')
    .option('--upstream-key <file>', 'its key (PEM)')
    .option('--upstream-insecure', "don't check the upstream's certificate")
    .option('--upstream-timeout-ms <ms>', 'silence of the upstream after which it is given up; 0: never (default: 0)')
    .optionsGroup('Options of serve:');
  addServingFlags(command);
  command.addHelpText('after', HELP).action((flags: ProxyFlags & Record<string, unknown>, own: Command) =>
    runServing(flags, own, (given) => {
      if (flags.upstreamInsecure) process.stderr.write(INSECURE);
      return startNamedProxy({ ...given, ...upstreamOf(flags) }, flagOf);
    }),
  );
}

const INSECURE =
  "wirefault: --upstream-insecure: the upstream's certificate is NOT checked: whoever is in between reads keys and answers\n";

function upstreamOf(flags: ProxyFlags) {
  const { upstreamTimeoutMs, onUpstreamError } = flags;
  return {
    upstream: flags.upstream,
    upstreamKeyEnv: flags.upstreamKeyEnv,
    decode: flags.decode,
    // What isn't one of them is refused by the library.
    onUpstreamError: onUpstreamError as OnUpstreamError | undefined,
    upstreamCa: flags.upstreamCa,
    upstreamCert: flags.upstreamCert,
    upstreamKey: flags.upstreamKey,
    upstreamInsecure: flags.upstreamInsecure,
    upstreamTimeoutMs: upstreamTimeoutMs === undefined ? undefined : numberOf(upstreamTimeoutMs),
  };
}
