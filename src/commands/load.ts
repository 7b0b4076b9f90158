import { X509Certificate } from 'node:crypto';
import type { Command } from 'commander';
import { messageOf, WirefaultError } from '../errors.js';
import { ENDS } from '../load/ends.js';
import { LOAD_FAIL_WORDS, loadFailures, loadFailWordsOf } from '../load/fail-words.js';
import type { LoadProgress } from '../load/load-report.js';
import { loadText, progressText } from '../load/load-text.js';
import { askedBody, askedHeaders, askedUrl, DEFAULT_PROMPT } from '../load/request.js';
import { type LoadOptions, runLoad } from '../load/run.js';
import { MAX_TIMER_MS } from '../option-rows.js';
import { isObject, PROTOCOLS, type Protocol } from '../sse/dialect.js';
import { protocolOf } from './client-words.js';
import { durationOf } from './duration.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';
import { isLive, reporter, STOPPED } from './progress.js';
import { bytesOf, collect, headerOf, wholeNumber } from './values.js';

interface LoadFlags {
  readonly protocol?: string;
  readonly concurrency?: string;
  readonly requests?: string;
  readonly duration?: string;
  readonly readRate?: string;
  readonly stream?: boolean;
  readonly model?: string;
  readonly prompt?: string;
  readonly body?: string;
  readonly header?: readonly string[];
  readonly keyEnv?: string;
  readonly laneHeader?: string;
  readonly timeoutMs?: string;
  readonly ca?: string;
  readonly insecure?: true;
  readonly maxErrors?: string;
  readonly failOn?: string;
  readonly json?: true;
}

const DEFAULT_CONCURRENCY = 32;
/** A client's address has no more ports for one server. */
const MAX_CONCURRENCY = 65_535;
const DEFAULT_REQUESTS = 1000;
const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_PROTOCOL: Protocol = 'openai-chat';
/** The line of a terminal, and the lines elsewhere. */
const LIVE_EVERY_MS = 250;
const TOLD_EVERY_MS = 10_000;

const INSECURE =
  "wirefault: --insecure: the server's certificate is NOT checked: whoever is in between reads keys and answers\n";

const ends = Object.entries(ENDS)
  .map(([kind, meaning]) => `  ${kind.padEnd(16)}${meaning}`)
  .join('\n');

const HELP = `
A base URL, with or without /v1, gets the protocol's path; any other path is kept. --concurrency is the number of
connections, each with one request at a time; they are kept alive, and nothing is asked twice. --read-rate makes every
connection a slow reader: the socket is read in little steps, so once the buffers of both kernels are full the server
feels it.

How an answer ended, as the client saw it:
${ends}
  ${'http_503'.padEnd(16)}any other status than 2xx
The content type isn't looked at, as SDKs don't; Retry-After is counted, and not followed.
Node may tell a RST as an end, and a FIN as a reset: what was on the wire is in the server's ledgers (wirefault journal).

An event counts when its blank line has come. Keep-alives (comments, pings) are no events. Times begin with the request,
for the first one of a connection before it is made. Events that came in one read are 0 ms apart.

--fail-on takes ends, ${LOAD_FAIL_WORDS.filter((word) => !(word in ENDS)).join(', ')}; incomplete is all but complete and stopped.
Exit code: 0, or 1 where it could not run, --fail-on was met or --max-errors exceeded, 2 for wrong usage, 130 at Ctrl-C,
with what was measured until then.

  wirefault load http://127.0.0.1:8000 --concurrency 500 --requests 5000 --protocol anthropic-messages
  wirefault load http://127.0.0.1:8000 --duration 30s --read-rate 20000 --fail-on incomplete
  wirefault load http://127.0.0.1:8000 --lane-header x-lane      # for a server with --lane-by header:x-lane`;

/** `wirefault load`: many streams at once, and what came of them. */
export function addLoadCommand(root: Command, output?: CommandOutput): void {
  root
    .command('load')
    .description('ask a URL many times at once, and measure the streams: times, gaps between events, how they ended')
    .argument('<url>', 'http:// or https://')
    .option('--protocol <name>', `what is asked: ${PROTOCOLS.join(', ')} (default: ${DEFAULT_PROTOCOL})`)
    .option('--concurrency <n>', `connections, each with one request at a time (default: ${DEFAULT_CONCURRENCY})`)
    .option('--requests <n>', `how many in all (default: ${DEFAULT_REQUESTS}, or no limit with --duration)`)
    .option('--duration <time>', 'no longer than that, such as 30s; what is open then is stopped')
    .option('--read-rate <n>', 'bytes that each connection reads in a second (default: as fast as they come)')
    .option('--stream', 'ask for streams (the default)')
    .option('--no-stream', 'ask for one JSON body')
    .option('--model <name>', 'model in the request')
    .option('--prompt <text>', `what is said to it (default: ${JSON.stringify(DEFAULT_PROMPT)})`)
    .option('--body <file>', 'the whole body of the request, instead of these; - for stdin')
    .option('--header <"Name: value">', 'a header of the request; may be given again', collect)
    .option('--key-env <name>', "environment variable with the key, which is sent in the protocol's header")
    .option('--lane-header <name>', 'a header with the number of the connection, from 1')
    .option('--timeout-ms <n>', `longest silence, also while it connects (default: ${DEFAULT_TIMEOUT_MS})`)
    .option('--ca <file>', 'certificates to trust, PEM')
    .option('--insecure', "don't check the server's certificate")
    .option('--max-errors <n>', 'more answers that are not complete make the exit code 1')
    .option('--fail-on <words>', 'ends that make the exit code 1, with commas')
    .option('--json', 'print one JSON document instead of tables')
    .addHelpText('after', HELP)
    .action(async (url: string, flags: LoadFlags) => {
      const out = output ?? processOutput();
      const failOn = loadFailWordsOf(flags.failOn);
      const maxErrors = wholeNumber('--max-errors', flags.maxErrors, 0);
      const interrupted = new AbortController();
      const live = isLive(out);
      const options: LoadOptions = {
        ...(await optionsOf(url, flags)),
        signal: interrupted.signal,
        progressEveryMs: live ? LIVE_EVERY_MS : TOLD_EVERY_MS,
      };
      if (flags.insecure) out.err.write(INSECURE);
      const interrupt = (): void => interrupted.abort();
      process.once('SIGINT', interrupt);
      process.once('SIGTERM', interrupt);
      try {
        const report = await runLoad({ ...options, onProgress: teller(out, options) });
        if (live) out.err.write('\r\u001b[K');
        await print(out, flags.json ? `${JSON.stringify(report)}\n` : loadText(report, paintOf(out)));
        const met = loadFailures(report, failOn, maxErrors);
        for (const line of met) out.err.write(`${line}\n`);
        if (met.length > 0) process.exitCode = 1;
        if (report.stoppedBy === 'signal') process.exitCode = STOPPED;
      } finally {
        process.off('SIGINT', interrupt);
        process.off('SIGTERM', interrupt);
      }
    });
}

/** Requests of all that are wanted, or seconds of the time. */
function teller(out: CommandOutput, { requests, durationMs }: LoadOptions): (progress: LoadProgress) => void {
  const report = reporter(out);
  return (progress) => {
    const { elapsedMs, ended } = progress;
    const what = progressText(progress);
    if (requests === undefined) {
      // Its last second is told as such only by the result: a step with all done ends the line.
      const total = Math.max(1, Math.ceil((durationMs ?? 0) / 1000));
      const done = Math.min(Math.floor(elapsedMs / 1000), total - 1);
      report({ done, total, etaMs: Math.max(0, (durationMs ?? 0) - elapsedMs), what: `(seconds) ${what}` });
    } else {
      const etaMs = ended === 0 ? undefined : (elapsedMs / ended) * (requests - ended);
      report({ done: ended, total: requests, etaMs, what });
    }
  };
}

async function optionsOf(text: string, flags: LoadFlags): Promise<Omit<LoadOptions, 'signal' | 'progressEveryMs'>> {
  const protocol = protocolOf(flags.protocol) ?? DEFAULT_PROTOCOL;
  const durationMs = durationOf('--duration', flags.duration, 1);
  const requests = wholeNumber('--requests', flags.requests, 1);
  const given = (flags.header ?? []).map(headerOf);
  const { body, stream } = await bodyOf(protocol, flags);
  return {
    url: askedUrl(urlOf(text), protocol),
    protocol,
    stream,
    body,
    headers: askedHeaders(protocol, keyOf(flags.keyEnv), given),
    laneHeader: laneHeaderOf(flags.laneHeader),
    concurrency: atMost('--concurrency', flags.concurrency, MAX_CONCURRENCY) ?? DEFAULT_CONCURRENCY,
    requests: requests ?? (durationMs === undefined ? DEFAULT_REQUESTS : undefined),
    durationMs,
    readBytesPerSecond: wholeNumber('--read-rate', flags.readRate, 1),
    timeoutMs: atMost('--timeout-ms', flags.timeoutMs, MAX_TIMER_MS) ?? DEFAULT_TIMEOUT_MS,
    ca: await caOf(flags.ca),
    insecure: flags.insecure === true,
  };
}

function bad(message: string, cause?: unknown): WirefaultError {
  return new WirefaultError('bad_option', message, { cause });
}

function atMost(flag: string, text: string | undefined, max: number): number | undefined {
  const value = wholeNumber(flag, text, 1);
  if (value === undefined || value <= max) return value;
  throw bad(`${flag}: ${value} is not allowed; expected at most ${max}`);
}

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw bad(`load: ${JSON.stringify(text)} is not allowed; expected an http:// or https:// URL`);
  }
  if (url.username === '' && url.password === '') return url;
  throw bad('load: a URL with a name or a password in it is not allowed; expected them in --header or --key-env');
}

/** A body of the user's own says itself whether it asks for a stream. */
async function bodyOf(protocol: Protocol, flags: LoadFlags): Promise<{ body: Buffer; stream: boolean }> {
  const { stream, model, prompt } = flags;
  if (flags.body === undefined) {
    return { body: askedBody({ protocol, stream: stream !== false, model, prompt }), stream: stream !== false };
  }
  const other = Object.entries({ stream, model, prompt }).find(([, value]) => value !== undefined)?.[0];
  if (other !== undefined) {
    throw bad(`--${stream === false ? 'no-stream' : other}: has no meaning with --body, which is the whole body`);
  }
  const body = await bytesOf('--body', flags.body);
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch (thrown) {
    throw bad(`--body: ${flags.body} is no JSON: ${messageOf(thrown)}`, thrown);
  }
  return { body, stream: isObject(json) && json.stream === true };
}

function laneHeaderOf(name: string | undefined): string | undefined {
  if (name === undefined || /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return name;
  throw bad(`--lane-header: ${JSON.stringify(name)} is not allowed; expected the name of a header`);
}

function keyOf(variable: string | undefined): string | undefined {
  const key = variable === undefined ? undefined : process.env[variable];
  if (variable === undefined || (key !== undefined && /^[\x21-\x7e]+$/.test(key))) return key;
  const what = key === undefined || key === '' ? 'is not set' : 'holds more than visible ASCII characters';
  throw bad(`--key-env: the environment variable ${variable} ${what}`);
}

async function caOf(path: string | undefined): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  const ca = await bytesOf('--ca', path);
  try {
    new X509Certificate(ca);
    return ca;
  } catch (thrown) {
    throw bad(`--ca: can't use ${path}: ${messageOf(thrown)}`, thrown);
  }
}
