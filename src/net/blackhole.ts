import { WirefaultError } from '../errors.js';
import { type Barrier, type BarrierMaker, type BoundPort, fdOf } from './listener-barrier.js';
import { fullQueues } from './listener-full-queue.js';
import { DROP, type Libc, libc } from './listener-libc.js';

/**
 * Connects hang: the kernel drops every SYN, with neither SYN-ACK nor RST, and the client's kernel sends it again after
 * about 1, 3, 7 s. Open connections live on.
 *
 * With koffi it is a filter on the listening socket (SO_ATTACH_FILTER, socket(7); `tcp_filter` in net/ipv4/tcp_ipv4.c
 * asks it before a SYN is looked at), which needs no right: one system call to begin, one to end, and the port is ours
 * all the time. Connections that wait to be accepted are not touched. Without koffi the accept queue is filled.
 */
export async function blackholes(): Promise<BarrierMaker> {
  const why = await blackholePossible();
  if (why !== undefined) throw new WirefaultError('window_impossible', `blackhole: ${why}`);
  const calls = await libc();
  if (!calls?.filters()) return fullQueues();
  return { make: (port) => filtered(calls, port), close: () => undefined };
}

/** Why connects can't be made to hang here, in one line that says what to use instead; `undefined` where they can. */
export async function blackholePossible(): Promise<string | undefined> {
  if (process.platform === 'linux') return undefined;
  return 'connects can be made to hang on Linux only; refuse them instead';
}

function filtered(calls: Libc, { server, port }: BoundPort): Barrier {
  const fd = fdOf(server);
  if (fd === undefined || !calls.attachFilter(fd, [DROP])) {
    throw new WirefaultError('window_impossible', `blackhole: port ${port}: the kernel takes no filter for its socket`);
  }
  return {
    lift: () => {
      calls.detachFilter(fd);
      return undefined;
    },
  };
}
