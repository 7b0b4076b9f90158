import { styleText } from 'node:util';
import { type Level, pino } from 'pino';
import type { Outcome, ServerEvent } from './events.js';

/**
 * What the command line prints: JSON lines for programs, coloured lines for people.
 */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Telemetry {
  event(event: ServerEvent): void;
  /** Resolves when all is written, or nobody has read it for a while; afterwards the process may exit. */
  flush(): Promise<void>;
}

/** How long a process that stops waits for the reader of its output. */
const FLUSH_LIMIT_MS = 1000;

const ignored = (): void => {};

interface Output {
  write(text: string): void;
  flush(): Promise<void>;
}

/**
 * Stdout, written once for each turn of the event loop. A pipe that is read slowly, or by nobody any more, holds up
 * neither the wire nor the end of the process. (pino's own destination did: its flush waits for ever for a full pipe.)
 */
function output(): Output {
  const { stdout } = process;
  // The reader may go before us, as in `wirefault | head`. Heard once, however many outputs there are.
  stdout.off('error', ignored).on('error', ignored);
  let gathered = '';
  const take = (): string => {
    const text = gathered;
    gathered = '';
    return text;
  };
  return {
    write: (text) => {
      if (gathered === '') setImmediate(() => stdout.write(take()));
      gathered += text;
    },
    flush: () =>
      new Promise((resolve) => {
        const limit = setTimeout(resolve, FLUSH_LIMIT_MS);
        stdout.write(take(), () => {
          clearTimeout(limit);
          resolve();
        });
      }),
  };
}

function levelOf(event: ServerEvent): Level {
  switch (event.type) {
    case 'listen_failed':
    case 'state_lost':
    case 'worker_lost':
    case 'journal_failed':
    case 'capture_failed':
    case 'record_failed':
      return 'error';
    case 'rejected':
    case 'upstream_insecure':
    case 'state_back':
    case 'state_fresh':
    case 'state_late':
      return 'warn';
    case 'unavailable':
    case 'ready':
    case 'available':
    case 'auxiliary':
    case 'control':
    case 'idle_fault':
    case 'request':
    case 'result':
      return 'info';
    default:
      return event satisfies never;
  }
}

/** One JSON object a line: `level`, `time` (ms since 1970), `type`, and the event's own fields. */
export function jsonLines(level: LogLevel): Telemetry {
  const out = output();
  const logger = pino({ level, base: null, formatters: { level: (label) => ({ level: label }) } }, out);
  return {
    event: (event) => logger[levelOf(event)](event),
    flush: out.flush,
  };
}

type Style = Parameters<typeof styleText>[0];

const OUTCOME_STYLE: Readonly<Record<Outcome, Style>> = {
  completed: 'green',
  reset: 'red',
  closed: 'red',
  stalled: 'yellow',
  client_closed: 'magenta',
  server_closed: 'magenta',
  cut_unreached: 'red',
  server_error: 'red',
  upstream_refused: 'red',
  upstream_tls: 'red',
  upstream_timeout: 'red',
  upstream_reset: 'red',
  upstream_closed: 'red',
  upstream_invalid: 'red',
};

const IDLE_WHEN = { idle: 'behind an answer', request: 'at the first byte of a request' } as const;

function unavailable({ baseURL, delayMs, attempts, blackhole }: ServerEvent & { type: 'unavailable' }): string {
  if (attempts !== undefined) return `port closed: ${baseURL} refuses ${attempts} connections`;
  return blackhole
    ? `port blocked: ${baseURL} answers no connect for ${delayMs} ms`
    : `port closed: ${baseURL} refuses connections for ${delayMs} ms`;
}

/** Told where it isn't on the port of the answers: its port may be one that nobody chose. */
function controlPlane({ baseURL, controlURL }: ServerEvent & { type: 'ready' }): string {
  return controlURL === undefined || baseURL === `${controlURL}/v1` ? '' : `control at ${controlURL}/__control; `;
}

/** One event for a person: a line, or two. */
export function humanLine(event: ServerEvent, style: (style: Style, text: string) => string): string {
  switch (event.type) {
    case 'unavailable':
      return style('yellow', unavailable(event));
    case 'ready':
      return [
        `${style('bold', 'wirefault')} ${event.version} is listening at ${style('cyan', event.baseURL)}`,
        style('gray', `seed ${event.randomSeed}; ${controlPlane(event)}Ctrl-C stops it`),
      ].join('\n');
    case 'available':
      return style('green', `port open: ${event.baseURL} accepts connections again`);
    case 'listen_failed':
      return style('red', event.reason);
    case 'journal_failed':
      return style('red', `journal: ${event.lostLines} lines lost: ${event.reason}`);
    case 'state_lost':
      return style('red', `shared state: ${event.reason}; requests under way: ${event.underWay}`);
    case 'state_back':
      return style('green', 'shared state: it is back');
    case 'state_fresh':
      return style(
        'yellow',
        `shared state: nothing was left of it; scripts begin anew, generation ${event.generation}`,
      );
    case 'state_late':
      return style('yellow', `shared state: exchange ${event.exchange} was taken too late, and nobody got it`);
    case 'worker_lost':
      return style('red', `worker ${event.worker}: ${event.reason}; exchanges lost: ${event.lostExchanges}`);
    case 'capture_failed':
      return style('red', `capture: ${event.reason}`);
    case 'record_failed':
      return style('red', `record: ${event.reason}`);
    case 'upstream_insecure':
      return style(
        'red',
        `the certificate of ${event.upstream} is NOT checked: whoever is in between reads keys and answers`,
      );
    case 'request': {
      const drawn = event.scriptBehavior === event.behavior ? '' : style('gray', ` (${event.scriptBehavior})`);
      return `${style('gray', `#${event.attempt}`)} ${event.path} → ${style('bold', event.behavior)}${drawn}`;
    }
    case 'result': {
      const chunks = style('gray', `${event.chunksSent} ${event.chunksSent === 1 ? 'event' : 'events'} sent`);
      const outcome = style(OUTCOME_STYLE[event.outcome], event.outcome);
      const why = event.reason === undefined ? '' : `: ${event.reason}`;
      return `${style('gray', `#${event.attempt}`)} ${event.behavior}: ${outcome}, ${chunks}${why}`;
    }
    case 'auxiliary':
      return style('gray', `${event.method} ${event.path}: ${event.status}, beside the script`);
    case 'control':
      return style('gray', `${event.method} ${event.path}: ${event.status}, control`);
    case 'idle_fault':
      return style('gray', `connection ${event.connection}: ${event.did}, ${IDLE_WHEN[event.when]}`);
    case 'rejected':
      return style('yellow', `rejected with ${event.status}${event.path ? ` ${event.path}` : ''}: ${event.reason}`);
    default:
      return event satisfies never;
  }
}

/** Readable lines on stdout. */
export function humanLines(level: LogLevel): Telemetry {
  const out = output();
  const order = (name: LogLevel): number => LOG_LEVELS.indexOf(name);
  return {
    event: (event) => {
      if (order(levelOf(event)) < order(level)) return;
      out.write(`${humanLine(event, styleText)}\n`);
    },
    flush: out.flush,
  };
}
