import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { messageOf, WirefaultError } from '../errors.js';
import { MAX_TIMER_MS } from '../option-rows.js';
import { type Naming, refused } from '../refused.js';

/** Where answers come from, and how it is dialled. */
export interface UpstreamOptions {
  /** `https://api.example.com`, perhaps with a path that all requests get in front. */
  readonly upstream: string;
  /** Name of the environment variable whose value takes the place of the client's key. */
  readonly upstreamKeyEnv?: string | undefined;
  /** Ask the upstream for answers that aren't compressed, so that they have events. Default false. */
  readonly decode?: boolean | undefined;
  /**
   * What a client gets where the upstream fails before it answers: the same failure (`mirror`, the default: a reset),
   * or an HTTP 502 that says what was wrong.
   */
  readonly onUpstreamError?: OnUpstreamError | undefined;
  /** A file with the certificates (PEM) of who may sign the upstream's; instead of those that Node knows. */
  readonly upstreamCa?: string | undefined;
  /** Files (PEM) with our own certificate and its key, for upstreams that ask for one. */
  readonly upstreamCert?: string | undefined;
  readonly upstreamKey?: string | undefined;
  /** Don't check the upstream's certificate; the event `upstream_insecure` says so at the start. Default false. */
  readonly upstreamInsecure?: boolean | undefined;
  /** Silence of the upstream, connecting included, after which it is given up; 0 (default): never. */
  readonly upstreamTimeoutMs?: number | undefined;
  /** Largest answer that is kept whole, for faults that need it whole. Default 64 MiB. */
  readonly maxBufferBytes?: number | undefined;
  /** Folder in which each exchange with the upstream is stored, for `replay` (docs/recordings.md). */
  readonly record?: string | undefined;
}

export const ON_UPSTREAM_ERROR = ['mirror', '502'] as const;
export type OnUpstreamError = (typeof ON_UPSTREAM_ERROR)[number];

export const UPSTREAM_OPTION_NAMES = [
  'upstream',
  'upstreamKeyEnv',
  'decode',
  'onUpstreamError',
  'upstreamCa',
  'upstreamCert',
  'upstreamKey',
  'upstreamInsecure',
  'upstreamTimeoutMs',
  'maxBufferBytes',
  'record',
] as const satisfies readonly (keyof UpstreamOptions)[];
export type UpstreamOptionName = (typeof UPSTREAM_OPTION_NAMES)[number];

export interface UpstreamTarget {
  /** As it was given, for people. */
  readonly url: string;
  readonly hostname: string;
  readonly port: number;
  /** For the Host header. */
  readonly host: string;
  readonly basePath: string;
  readonly tls: TlsTarget | undefined;
  readonly key: string | undefined;
  readonly decode: boolean;
  readonly onError: OnUpstreamError;
  readonly timeoutMs: number;
  readonly maxBufferBytes: number;
  readonly record: string | undefined;
}

export interface TlsTarget {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly insecure: boolean;
}

export const DEFAULT_MAX_BUFFER_BYTES = 67_108_864;

/** @throws WirefaultError `bad_option` */
export function upstreamTarget(options: UpstreamOptions, naming: Naming): UpstreamTarget {
  const url = urlOf(options.upstream, naming);
  const secure = url.protocol === 'https:';
  const { decode = false, onUpstreamError = 'mirror', upstreamInsecure = false, record } = options;
  if (record !== undefined && (typeof record !== 'string' || record === '')) {
    throw refused(naming('record'), record, 'the path of a folder');
  }
  for (const [name, value] of Object.entries({ decode, upstreamInsecure })) {
    if (typeof value !== 'boolean') throw refused(naming(name), value, 'true or false');
  }
  if (!ON_UPSTREAM_ERROR.includes(onUpstreamError)) {
    throw refused(naming('onUpstreamError'), onUpstreamError, `one of ${ON_UPSTREAM_ERROR.join(', ')}`);
  }
  const tlsOnly = {
    upstreamCa: options.upstreamCa,
    upstreamCert: options.upstreamCert,
    upstreamKey: options.upstreamKey,
    upstreamInsecure: upstreamInsecure || undefined,
  };
  for (const [name, value] of Object.entries(tlsOnly)) {
    if (value !== undefined && !secure) throw refused(naming(name), value, 'an upstream of https:// beside it');
  }
  return {
    url: options.upstream,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (secure ? 443 : 80)),
    host: url.host,
    basePath: url.pathname.replace(/\/+$/, ''),
    tls: secure ? tlsOf(options, naming) : undefined,
    key: keyOf(options.upstreamKeyEnv, naming),
    decode,
    onError: onUpstreamError,
    timeoutMs: count('upstreamTimeoutMs', options.upstreamTimeoutMs, 0, MAX_TIMER_MS, naming),
    record,
    maxBufferBytes: count('maxBufferBytes', options.maxBufferBytes, DEFAULT_MAX_BUFFER_BYTES, 2 ** 31 - 1, naming),
  };
}

function urlOf(text: unknown, naming: Naming): URL {
  const allowed = 'a URL such as https://api.example.com, without a user, a query or a fragment';
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  const plain = url && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === '';
  if (!url || !plain || url.password !== '') throw refused(naming('upstream'), shownUrl(text), allowed);
  return url;
}

/** A password in a URL is a secret, refused or not. */
function shownUrl(text: unknown): unknown {
  return typeof text === 'string' ? text.replace(/\/\/[^/@]*@/, '//(hidden)@') : text;
}

function count(name: string, value: number | undefined, otherwise: number, max: number, naming: Naming): number {
  if (value === undefined) return otherwise;
  if (Number.isSafeInteger(value) && value >= 0 && value <= max) return value;
  throw refused(naming(name), value, `a whole number from 0 to ${max}`);
}

function keyOf(variable: string | undefined, naming: Naming): string | undefined {
  if (variable === undefined) return undefined;
  const key = process.env[variable];
  // A line end in it would be a header of its own.
  if (key !== undefined && /^[\x21-\x7e]+$/.test(key)) return key;
  const what = key === undefined || key === '' ? 'is not set' : 'holds more than visible ASCII characters';
  throw new WirefaultError('bad_option', `${naming('upstreamKeyEnv')}: the environment variable ${variable} ${what}`);
}

function tlsOf(options: UpstreamOptions, naming: Naming): TlsTarget {
  const { upstreamCa, upstreamCert, upstreamKey, upstreamInsecure = false } = options;
  if ((upstreamCert === undefined) !== (upstreamKey === undefined)) {
    const [has, lacks] = upstreamCert === undefined ? ['upstreamKey', 'upstreamCert'] : ['upstreamCert', 'upstreamKey'];
    throw new WirefaultError('bad_option', `${naming(has)}: needs ${naming(lacks)} beside it`);
  }
  const ca = pem('upstreamCa', upstreamCa, naming);
  const cert = pem('upstreamCert', upstreamCert, naming);
  const key = pem('upstreamKey', upstreamKey, naming);
  // What isn't PEM is found out now, not by the first request.
  checked('upstreamCa', upstreamCa, naming, () => ca && new X509Certificate(ca));
  checked('upstreamCert', upstreamCert, naming, () => cert && key && createSecureContext({ cert, key }));
  return { ...(ca ? { ca } : {}), ...(cert ? { cert } : {}), ...(key ? { key } : {}), insecure: upstreamInsecure };
}

function pem(name: string, path: string | undefined, naming: Naming): Buffer | undefined {
  return path === undefined ? undefined : checked(name, path, naming, () => readFileSync(path));
}

function checked<T>(name: string, path: string | undefined, naming: Naming, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw new WirefaultError('bad_option', `${naming(name)}: can't use ${path}: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}
