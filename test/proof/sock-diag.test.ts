import { describe, expect, it } from 'vitest';
import { diagRequest, parseDiagReply } from '../../src/proof/sock-diag.js';

/**
 * Against the structs of linux/netlink.h (`nlmsghdr`, 16 bytes), linux/inet_diag.h (`inet_diag_req_v2`, 56, and
 * `inet_diag_msg`, 72) and linux/rtnetlink.h (`rtattr`, 4), written out field by field.
 */
const REQUEST_HEADER = '48000000' /* length: 72 */ + '1400' /* SOCK_DIAG_BY_FAMILY */ + '0100' /* NLM_F_REQUEST */;
const NO_SEQUENCE_NOR_PORT = '0000000000000000';
const TCP_WITH_INFO = '060200' /* IPPROTO_TCP; INET_DIAG_INFO; padding */ + 'ffffffff' /* every state */;
/** Any interface; INET_DIAG_NOCOOKIE twice. */
const NO_INTERFACE_NOR_COOKIE = '00000000' + 'ffffffffffffffff';

function requestBytes(family: string, ports: string, source: string, target: string): string {
  const id = ports + source + target + NO_INTERFACE_NOR_COOKIE;
  return REQUEST_HEADER + NO_SEQUENCE_NOR_PORT + family + TCP_WITH_INFO + id;
}

const IPV4_PADDING = '0'.repeat(24);

describe('the request', () => {
  it('for IPv4', () => {
    const tuple = { source: '127.0.0.1', sourcePort: 0x1234, target: '10.1.2.3', targetPort: 8000 };
    expect(diagRequest(tuple)?.toString('hex')).toBe(
      requestBytes('02', '1234' + '1f40', `7f000001${IPV4_PADDING}`, `0a010203${IPV4_PADDING}`),
    );
  });

  it('for IPv6', () => {
    const tuple = { source: '::1', sourcePort: 1, target: 'fe80::2%lo', targetPort: 65_535 };
    expect(diagRequest(tuple)?.toString('hex')).toBe(
      requestBytes('0a', '0001' + 'ffff', `${'0'.repeat(31)}1`, `fe80${'0'.repeat(27)}2`),
    );
  });

  it('for mapped addresses: that of the IPv4 socket', () => {
    const ports = { sourcePort: 40_000, targetPort: 80 };
    expect(diagRequest({ source: '::ffff:127.0.0.1', target: '::ffff:127.0.0.2', ...ports })).toEqual(
      diagRequest({ source: '127.0.0.1', target: '127.0.0.2', ...ports }),
    );
  });

  it('there is none without four addresses', () => {
    const whole = { source: '127.0.0.1', sourcePort: 1, target: '127.0.0.1', targetPort: 2 };
    expect(diagRequest(whole)).toBeDefined();
    for (const part of ['source', 'sourcePort', 'target', 'targetPort']) {
      expect(diagRequest({ ...whole, [part]: undefined })).toBeUndefined();
    }
    expect(diagRequest({ ...whole, source: 'nonsense' })).toBeUndefined();
  });
});

const SOCK_DIAG_BY_FAMILY = 20;
const INET_DIAG_MEMINFO = 1;
const INET_DIAG_INFO = 2;
/** `tcpi_bytes_received` ends here; the kernel's struct goes on. */
const TCP_INFO_BYTES = 136;

function attribute(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16LE(4 + payload.length, 0);
  head.writeUInt16LE(type, 2);
  return Buffer.concat([head, payload, Buffer.alloc((4 - (payload.length % 4)) % 4)]);
}

function tcpInfo(received: bigint, length = TCP_INFO_BYTES + 112): Buffer {
  const info = Buffer.alloc(length, 0xee);
  if (length >= TCP_INFO_BYTES) info.writeBigUInt64LE(received, 128);
  return info;
}

function reply(unread: number, attributes: Buffer[], type = SOCK_DIAG_BY_FAMILY): Buffer {
  const message = Buffer.alloc(72, 0xdd);
  message.writeUInt32LE(unread, 56);
  const header = Buffer.alloc(16);
  const whole = Buffer.concat([header, message, ...attributes]);
  whole.writeUInt32LE(whole.length, 0);
  whole.writeUInt16LE(type, 4);
  return whole;
}

const INFO = attribute(INET_DIAG_INFO, tcpInfo(5_000_000_000n));

describe('the reply', () => {
  it('tells what was received and what is unread', () => {
    expect(parseDiagReply(reply(77, [INFO]))).toEqual({ receivedBytes: 5_000_000_000, unreadBytes: 77 });
  });

  it('other attributes may come before, padded to four bytes', () => {
    const before = [attribute(INET_DIAG_MEMINFO, Buffer.alloc(16)), attribute(8, Buffer.from([1])), INFO];
    expect(parseDiagReply(reply(0, before))).toEqual({ receivedBytes: 5_000_000_000, unreadBytes: 0 });
  });

  it('that is cut anywhere, or says that it is, tells nothing', () => {
    const whole = reply(77, [INFO]);
    const needed = 16 + 72 + 4 + tcpInfo(0n).length;
    expect(whole.length).toBe(needed);
    for (let length = 0; length < needed; length++) {
      expect(parseDiagReply(whole.subarray(0, length)), `${length} bytes`).toBeUndefined();
      if (length < 4) continue;
      const short = Buffer.from(whole);
      short.writeUInt32LE(length, 0);
      expect(parseDiagReply(short), `length field ${length}`).toBeUndefined();
    }
  });

  it('of an error, of the end of a dump, of another protocol: nothing', () => {
    const [NLMSG_NOOP, NLMSG_ERROR, NLMSG_DONE, RTM_NEWLINK] = [1, 2, 3, 16];
    for (const type of [NLMSG_NOOP, NLMSG_ERROR, NLMSG_DONE, RTM_NEWLINK]) {
      expect(parseDiagReply(reply(77, [INFO], type))).toBeUndefined();
    }
  });

  it('without tcp_info (a socket in TIME_WAIT), or with that of a kernel before 4.1: nothing', () => {
    expect(parseDiagReply(reply(0, []))).toBeUndefined();
    expect(parseDiagReply(reply(0, [attribute(INET_DIAG_MEMINFO, Buffer.alloc(16))]))).toBeUndefined();
    expect(parseDiagReply(reply(0, [attribute(INET_DIAG_INFO, tcpInfo(0n, 104))]))).toBeUndefined();
  });

  it('with an attribute of no length ends', () => {
    expect(parseDiagReply(reply(0, [Buffer.alloc(4), INFO]))).toBeUndefined();
  });
});
