import type { Socket } from 'node:net';
import { type Counters, flushedOf, handleOf, type Kernel, withoutFin } from './counters.js';
import { diagRequest, parseDiagReply } from './sock-diag.js';

/**
 * The kernel asked directly, through the prebuilt foreign-function library koffi. It is an optional dependency, and
 * its platform packages too: where it can't be loaded there is no such kernel.
 *
 * Linux (ioctl 1 to 4 µs, sock_diag 43 µs a call, measured): SIOCOUTQ tells the bytes that are sent or to be sent and not acknowledged
 * (tcp(7)), and our FIN. An exact sock_diag query of the client's own socket tells what that has received and not read.
 * What it has read it has received, though the acknowledgement may be 40 ms away (delayed, on a kept-alive connection).
 * macOS: SO_NWRITE tells the bytes in the send buffer.
 */

// linux/sockios.h, linux/netlink.h, sys/socket.h
const SIOCOUTQ = 0x5411;
const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const NETLINK_SOCK_DIAG = 4;
const MSG_DONTWAIT = 0x40;
// xnu bsd/sys/socket.h
const DARWIN_SOL_SOCKET = 0xffff;
const DARWIN_SO_NWRITE = 0x1024;

type Koffi = typeof import('koffi');

async function loadKoffi(): Promise<Koffi | undefined> {
  try {
    return await import('koffi');
  } catch {
    return undefined;
  }
}

let shared: Promise<Kernel | undefined> | undefined;

/** One for the process: its netlink socket serves all servers, and lives as long. */
export function koffiKernel(): Promise<Kernel | undefined> {
  shared ??= makeKernel();
  return shared;
}

async function makeKernel(): Promise<Kernel | undefined> {
  const koffi = await loadKoffi();
  try {
    if (koffi && process.platform === 'linux') return linuxKernel(koffi);
    if (koffi && process.platform === 'darwin') return darwinKernel(koffi);
  } catch {
    // A sandbox without netlink, or a C library of another kind: the next source is asked.
  }
  return undefined;
}

function linuxKernel(koffi: Koffi): Kernel | undefined {
  const libc = koffi.load(null);
  const ioctl = libc.func('int ioctl(int fd, unsigned long request, void *value)');
  const openSocket = libc.func('int socket(int domain, int type, int protocol)');
  const send = libc.func('intptr_t send(int fd, const void *bytes, uintptr_t length, int flags)');
  const receive = libc.func('intptr_t recv(int fd, void *bytes, uintptr_t length, int flags)');

  // One socket for all queries: the kernel answers within `send`, so its reply is there when `recv` asks.
  const netlink = Number(openSocket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  const value = Buffer.alloc(4);
  const reply = Buffer.alloc(4096);

  function outq(fd: number): number | undefined {
    return Number(ioctl(fd, SIOCOUTQ, value)) === 0 ? value.readInt32LE(0) : undefined;
  }

  /** What the client has read, or `null` where its socket isn't on this host. */
  function readBy(request: Buffer): number | null {
    if (netlink < 0 || Number(send(netlink, request, request.length, 0)) !== request.length) return null;
    const length = Number(receive(netlink, reply, reply.length, MSG_DONTWAIT));
    const client = length > 0 ? parseDiagReply(reply.subarray(0, length)) : undefined;
    return client ? client.receivedBytes - client.unreadBytes : null;
  }

  return {
    source: 'koffi',
    probe: (socket) => {
      let request: Buffer | undefined;
      return {
        look: (): Counters | undefined => {
          const flushed = flushedOf(socket);
          const fd = handleOf(socket)?.fd;
          if (flushed === undefined || fd === undefined || fd < 0) return undefined;
          const unacknowledged = outq(fd);
          if (unacknowledged === undefined) return undefined;
          request ??= diagRequest(clientTuple(socket));
          const acked = Math.max(0, flushed - withoutFin(unacknowledged, socket.writableFinished));
          const client = request ? readBy(request) : null;
          if (client === null) return { flushed, acked, read: null };
          // Our FIN, once the client has read it, counts as one there.
          const read = Math.min(client, flushed);
          return { flushed, acked: Math.max(acked, read), read };
        },
      };
    },
  };
}

/** The client's socket, seen from the client: its own address is the source. */
function clientTuple(socket: Socket) {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  return { source: remoteAddress, sourcePort: remotePort, target: localAddress, targetPort: localPort };
}

function darwinKernel(koffi: Koffi): Kernel {
  const libc = koffi.load(null);
  const getsockopt = libc.func('int getsockopt(int fd, int level, int name, void *value, void *length)');
  const value = Buffer.alloc(4);
  const length = Buffer.alloc(4);
  return {
    source: 'so_nwrite',
    probe: (socket) => ({
      look: () => {
        const flushed = flushedOf(socket);
        const fd = handleOf(socket)?.fd;
        if (flushed === undefined || fd === undefined || fd < 0) return undefined;
        length.writeUInt32LE(value.length, 0);
        const failed = Number(getsockopt(fd, DARWIN_SOL_SOCKET, DARWIN_SO_NWRITE, value, length)) !== 0;
        return { flushed, acked: failed ? null : Math.max(0, flushed - value.readInt32LE(0)), read: null };
      },
    }),
  };
}
