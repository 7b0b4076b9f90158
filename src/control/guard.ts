import { timingSafeEqual } from 'node:crypto';
import net from 'node:net';
import { errorReply, type Reply } from '../http/reply.js';
import type { RequestHead } from '../http/request.js';

/**
 * Who may drive the server: whoever is on this machine and no web page; or whoever has the token. A page of a browser
 * has an `Origin`, or a `Host` of its own where a name was made to point here (DNS rebinding).
 */
export interface GuardOptions {
  /** The address that is listened on. */
  readonly host: string;
  readonly controlToken: string | undefined;
}

const TOKEN_HEADER = 'x-wirefault-token';

/** Why a request may not control the server, or `undefined`. */
export function guard(
  { headers }: Pick<RequestHead, 'headers'>,
  clientAddress: string | undefined,
  options: GuardOptions,
): Reply | undefined {
  const { controlToken } = options;
  const given = /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1];
  const token = headers[TOKEN_HEADER] ?? given;
  if (controlToken !== undefined) {
    return token !== undefined && same(token, controlToken)
      ? undefined
      : denied(401, `the control plane needs its token: "Authorization: Bearer TOKEN" or "${TOKEN_HEADER}: TOKEN"`);
  }
  if (!isLoopback(options.host) || !isLoopback(clientAddress)) {
    return denied(
      403,
      'the control plane answers on loopback only; start the server with --control-token to use it from elsewhere',
    );
  }
  const foreign = foreignHost(headers.host, options.host) ?? foreignOrigin(headers);
  return foreign === undefined ? undefined : denied(403, `${foreign}: no web page may drive this server`);
}

function denied(status: number, reason: string): Reply {
  return errorReply(status, 'control_denied', reason);
}

function same(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** 127.0.0.0/8, ::1, and IPv4 in IPv6 (RFC 4291, section 2.5.5.2). */
export function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = address.toLowerCase().replace(/^::ffff:/, '');
  return plain === 'localhost' || plain === '::1' || (net.isIPv4(plain) && plain.startsWith('127.'));
}

/** The name in a `Host` header or in an origin, without its port. */
function hostname(authority: string): string {
  const [, bracketed] = /^\[([^\]]*)\]/.exec(authority) ?? [];
  return (bracketed ?? authority.replace(/:\d*$/, '')).toLowerCase();
}

function foreignHost(host: string | undefined, own: string): string | undefined {
  // HTTP/1.0 clients have none; browsers always do.
  if (host === undefined) return undefined;
  const name = hostname(host);
  return isLoopback(name) || name === own.toLowerCase()
    ? undefined
    : `Host ${JSON.stringify(host)} is not this machine`;
}

function foreignOrigin({ origin, host, 'sec-fetch-site': site }: RequestHead['headers']): string | undefined {
  if (origin !== undefined && origin.replace(/^https?:\/\//, '') !== host)
    return `Origin ${JSON.stringify(origin)} is foreign`;
  return site === undefined || site === 'same-origin' || site === 'none' ? undefined : `Sec-Fetch-Site is ${site}`;
}
