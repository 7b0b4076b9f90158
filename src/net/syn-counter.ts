import { once } from 'node:events';
import net from 'node:net';
import { errnoOf, WirefaultError } from '../errors.js';
import { type Barrier, type BoundPort, fdOf } from './listener-barrier.js';
import { DROP, type Libc, libc } from './listener-libc.js';
import { openTaps, type TappedSyn, type Taps } from './listener-taps.js';

/**
 * Refuses an exact number of connects. The kernel refuses without telling anybody, and a port that is opened when
 * somebody has noticed the last SYN has refused too many by then. So the server goes on listening, behind a filter that
 * drops every SYN; raw sockets get them all the same, and the first ones are answered from here, with the RST of a
 * closed port. The filter goes before the last RST leaves: whoever gets that finds the port open. SYNs that came after
 * it in the same moment are put before the server again, or their clients would wait a second and send them again.
 *
 * A SYN that comes again, since its RST was lost, has the same port and sequence number: it counts once.
 */
export interface SynCounter extends Barrier {
  /** Refuses as many more; returns how many are left. */
  add(attempts: number): number;
}

const POLL_MS = 1;

/**
 * From the call on connects are refused. `onLast` is called when as many were, the last one's RST not sent yet.
 * @throws WirefaultError `window_impossible`
 */
export function refuseSyns(calls: Libc, port: BoundPort, attempts: number, onLast: () => void): SynCounter {
  const { fd, taps } = shutAndTapped(calls, port);
  const refused = new Set<string>();
  let left = attempts;
  let over = false;
  const timer = setInterval(look, POLL_MS);

  function look(): void {
    const resets: TappedSyn[] = [];
    const late: TappedSyn[] = [];
    for (const syn of taps.read()) {
      const again = refused.has(syn.name);
      if (again || left > 0) resets.push(syn);
      else late.push(syn);
      if (again || left === 0) continue;
      refused.add(syn.name);
      left--;
    }
    if (left === 0) {
      open();
      onLast();
      // The filter has dropped some since they were read, perhaps.
      late.push(...taps.read());
    }
    for (const syn of resets) syn.refuse();
    for (const syn of late) syn.repeat();
    if (left === 0) taps.close();
  }

  function open(): void {
    over = true;
    clearInterval(timer);
    calls.detachFilter(fd);
  }

  return {
    add: (more) => {
      left += more;
      return left;
    },
    lift: () => {
      if (over) return undefined;
      open();
      taps.close();
      return undefined;
    },
  };
}

function shutAndTapped(
  calls: Libc,
  { server, address, port }: BoundPort,
): { readonly fd: number; readonly taps: Taps } {
  const refusal = (why: string) => new WirefaultError('window_impossible', `refuse_attempts: port ${port}: ${why}`);
  const fd = fdOf(server);
  // Before the raw sockets: a SYN between the two comes again; the other way round one that got in would be refused.
  if (fd === undefined || !calls.attachFilter(fd, [DROP])) throw refusal('the kernel takes no filter for its socket');
  const taps = openTaps(calls, address, port);
  if (typeof taps !== 'string') return { fd, taps };
  calls.detachFilter(fd);
  throw refusal(`no raw socket: ${taps}`);
}

const INSTEAD = 'give a time in milliseconds instead';
const REHEARSAL_HOST = '127.0.0.1';
/** Far more than two connects on loopback take. */
const REHEARSAL_MS = 2000;

let known: Promise<string | undefined> | undefined;

/**
 * Why refused connects can't be counted here, in one line that says what to use instead; `undefined` where they can:
 * Linux, koffi, and the right to raw sockets. It is tried out once, on a port of its own.
 */
export function attemptsCountable(): Promise<string | undefined> {
  known ??= whyNot();
  return known;
}

async function whyNot(): Promise<string | undefined> {
  if (process.platform !== 'linux') return `refused connects can be counted on Linux only; ${INSTEAD}`;
  const calls = await libc();
  if (!calls) return `counting refused connects needs the optional package koffi; ${INSTEAD}`;
  const taps = openTaps(calls, REHEARSAL_HOST, 1);
  if (typeof taps !== 'string') taps.close();
  else if (taps === 'EPERM' || taps === 'EACCES') {
    const how = 'CAP_NET_RAW: root has it, and a node binary after `setcap cap_net_raw+ep`';
    return `counting refused connects needs the right to raw sockets (${how}); ${INSTEAD}`;
  }
  return (await rehearsed(calls)) ? undefined : `refused connects can't be counted on this machine; ${INSTEAD}`;
}

/** Whether a first connect is refused and the next one is not: a sandbox may take all the calls and do nothing. */
async function rehearsed(calls: Libc): Promise<boolean> {
  const server = net.createServer((socket) => socket.destroy());
  let counter: SynCounter | undefined;
  const signal = AbortSignal.timeout(REHEARSAL_MS);
  try {
    server.listen(0, REHEARSAL_HOST);
    await once(server, 'listening', { signal });
    const address = server.address();
    if (address === null || typeof address === 'string') return false;
    const { port } = address;
    counter = refuseSyns(calls, { server, address: address.address, port }, 1, () => {});
    return (await connects(port, signal)) === 'ECONNREFUSED' && (await connects(port, signal)) === 'connected';
  } catch {
    return false;
  } finally {
    counter?.lift();
    server.close();
  }
}

/** `connected`, or the code of the error. */
async function connects(port: number, signal: AbortSignal): Promise<string | undefined> {
  const client = net.connect({ port, host: REHEARSAL_HOST, signal });
  try {
    await once(client, 'connect');
    return 'connected';
  } catch (thrown) {
    return errnoOf(thrown);
  } finally {
    client.destroy();
  }
}
