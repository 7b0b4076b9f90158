import { addressBytes } from './address.js';

/**
 * NETLINK_SOCK_DIAG messages (sock_diag(7), linux/inet_diag.h): one exact query by the four addresses of a TCP socket,
 * never a dump. Netlink speaks in the byte order of the host, which is little on every platform that Node supports here;
 * ports and addresses are in network order.
 */
export interface TcpTuple {
  readonly source: string | undefined;
  readonly sourcePort: number | undefined;
  readonly target: string | undefined;
  readonly targetPort: number | undefined;
}

export interface DiagReply {
  /** Received in order since the connection was made; a FIN counts as one. */
  readonly receivedBytes: number;
  /** Received and not taken by the program; a FIN that wasn't reached counts as one. */
  readonly unreadBytes: number;
}

const NLMSG_HEADER_BYTES = 16;
const SOCK_DIAG_BY_FAMILY = 20;
const NLM_F_REQUEST = 1;
const IPPROTO_TCP = 6;
const AF_INET = 2;
const AF_INET6 = 10;
const INET_DIAG_INFO = 2;
const ALL = 0xffff_ffff;
/** `struct inet_diag_req_v2`: family, protocol, extensions, padding, states, then the socket's id. */
const REQUEST_BYTES = 56;
const ID_OFFSET = 8;
/** `struct inet_diag_msg`: four small fields, the id (48 bytes), expires, rqueue, wqueue, uid, inode. */
const REPLY_BYTES = 72;
const RQUEUE_OFFSET = 56;
/** Of `struct tcp_info`: tcpi_bytes_received (measured on Linux 6.18; part of the kernel's ABI since 4.1). */
const BYTES_RECEIVED_OFFSET = 128;

/** The query, or `undefined` where an address isn't known. */
export function diagRequest(tuple: TcpTuple): Buffer | undefined {
  const source = addressBytes(tuple.source);
  const target = addressBytes(tuple.target);
  if (!source || !target || tuple.sourcePort === undefined || tuple.targetPort === undefined) return undefined;
  const message = Buffer.alloc(NLMSG_HEADER_BYTES + REQUEST_BYTES);
  message.writeUInt32LE(message.length, 0);
  message.writeUInt16LE(SOCK_DIAG_BY_FAMILY, 4);
  message.writeUInt16LE(NLM_F_REQUEST, 6);
  const request = message.subarray(NLMSG_HEADER_BYTES);
  request[0] = source.length === 4 ? AF_INET : AF_INET6;
  request[1] = IPPROTO_TCP;
  request[2] = 1 << (INET_DIAG_INFO - 1);
  request.writeUInt32LE(ALL, 4);
  const id = request.subarray(ID_OFFSET);
  id.writeUInt16BE(tuple.sourcePort, 0);
  id.writeUInt16BE(tuple.targetPort, 2);
  source.copy(id, 4);
  target.copy(id, 20);
  // No particular interface; no cookie (both words all ones).
  id.writeUInt32LE(ALL, 40);
  id.writeUInt32LE(ALL, 44);
  return message;
}

/** The socket of the reply, or `undefined` where there is none (another host, another network namespace, gone). */
export function parseDiagReply(message: Buffer): DiagReply | undefined {
  if (message.length < NLMSG_HEADER_BYTES + REPLY_BYTES) return undefined;
  if (message.readUInt16LE(4) !== SOCK_DIAG_BY_FAMILY) return undefined;
  const end = Math.min(message.length, message.readUInt32LE(0));
  const unreadBytes = message.readUInt32LE(NLMSG_HEADER_BYTES + RQUEUE_OFFSET);
  let at = NLMSG_HEADER_BYTES + REPLY_BYTES;
  while (at + 4 <= end) {
    const length = message.readUInt16LE(at);
    const type = message.readUInt16LE(at + 2);
    if (length < 4 || at + length > end) return undefined;
    if (type === INET_DIAG_INFO && length >= 4 + BYTES_RECEIVED_OFFSET + 8) {
      const receivedBytes = Number(message.readBigUInt64LE(at + 4 + BYTES_RECEIVED_OFFSET));
      return { receivedBytes, unreadBytes };
    }
    at += Math.ceil(length / 4) * 4;
  }
  return undefined;
}
