import { addressBytes } from '../proof/address.js';
import { AF_INET, AF_INET6, DROP, type Family, type FilterProgram, type Libc, PASS } from './listener-libc.js';
import { type Endpoints, ipv4Parts, resetPacket, type Syn, synOf, synPacket } from './listener-packet.js';

/** Raw sockets that get the SYNs to a port beside the kernel's TCP, and can send what it would. */
export interface Taps {
  /** The SYNs that came since the last reading, in their order. */
  read(): TappedSyn[];
  close(): void;
}

export interface TappedSyn {
  /** The same for a retransmission. */
  readonly name: string;
  /** Answers as a closed port does. */
  refuse(): void;
  /** Puts it before the kernel's TCP again, as if it came now. */
  repeat(): void;
}

// netinet/in.h, linux/in.h, linux/in6.h
const IPPROTO_IP = 0;
const IP_HDRINCL = 3;
const IPPROTO_IPV6 = 41;
const IPV6_HDRINCL = 36;
const IPV6_RECVPKTINFO = 49;

/** The sockets, or the name of the error with which the kernel refused one (`EPERM`). */
export function openTaps(calls: Libc, address: string, port: number): Taps | string {
  const taps: Taps[] = [];
  for (const family of familiesOf(address)) {
    const tap = openTap(calls, family, address, port);
    if (typeof tap === 'string') {
      for (const open of taps) open.close();
      return tap;
    }
    taps.push(tap);
  }
  return {
    read: () => taps.flatMap((tap) => tap.read()),
    close: () => {
      for (const tap of taps) tap.close();
    },
  };
}

/** A server on `::` takes IPv4 connections, too; and one on a mapped address takes no others. */
function familiesOf(address: string): readonly Family[] {
  if (address === '::') return [AF_INET6, AF_INET];
  return addressBytes(address)?.length === 4 ? [AF_INET] : [AF_INET6];
}

function openTap(calls: Libc, family: Family, address: string, port: number): Taps | string {
  const fd = calls.rawSocket(family);
  if (typeof fd === 'string') return fd;
  const ready =
    family === AF_INET
      ? calls.enable(fd, IPPROTO_IP, IP_HDRINCL)
      : calls.enable(fd, IPPROTO_IPV6, IPV6_HDRINCL) && calls.enable(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO);
  if (!ready || !calls.attachFilter(fd, family === AF_INET ? ipv4Syns(port) : ipv6Syns(port))) {
    calls.close(fd);
    return 'ENOPROTOOPT';
  }
  const receive = calls.receiver(fd);

  function next(): { readonly syn: Syn | undefined; readonly scope: number } | undefined {
    const packet = receive();
    if (!packet) return undefined;
    const { bytes, socketAddress, control } = packet;
    if (family === AF_INET) {
      const { segment, ...endpoints } = ipv4Parts(bytes);
      return { syn: synOf(segment, endpoints), scope: 0 };
    }
    // A raw socket of IPv6 gets no IP header; the target is the first field of `struct in6_pktinfo` (ipv6(7)).
    const endpoints: Endpoints = { source: socketAddress.subarray(8, 24), target: control.subarray(0, 16) };
    return { syn: synOf(bytes, endpoints), scope: socketAddress.readUInt32LE(24) };
  }

  const tapped = (syn: Syn, scope: number): TappedSyn => {
    // Best effort, as every packet is: a SYN without an answer comes again.
    const send = (packet: Buffer, to: Buffer): void => {
      calls.sendTo(fd, packet, socketAddressOf(to, scope));
    };
    return {
      name: `${syn.source.toString('hex')} ${syn.sourcePort} ${syn.sequence}`,
      refuse: () => send(resetPacket(syn), syn.source),
      repeat: () => send(synPacket(syn), syn.target),
    };
  };

  return {
    read: () => {
      const syns: TappedSyn[] = [];
      for (let one = next(); one; one = next()) {
        // What came before the filter was there is anything.
        if (one.syn && isTo(one.syn, address, port)) syns.push(tapped(one.syn, one.scope));
      }
      return syns;
    },
    close: () => calls.close(fd),
  };
}

function isTo({ target, targetPort }: Syn, address: string, port: number): boolean {
  if (targetPort !== port) return false;
  return address === '0.0.0.0' || address === '::' || addressBytes(address)?.equals(target) === true;
}

/** `struct sockaddr_in` (ip(7)) or `sockaddr_in6` (ipv6(7)). The port stays 0: it would be the protocol's number (raw(7)). */
function socketAddressOf(address: Buffer, scope: number): Buffer {
  if (address.length === 4) {
    const bytes = Buffer.alloc(16);
    bytes.writeUInt16LE(AF_INET, 0);
    bytes.set(address, 4);
    return bytes;
  }
  const bytes = Buffer.alloc(28);
  bytes.writeUInt16LE(AF_INET6, 0);
  bytes.set(address, 8);
  bytes.writeUInt32LE(scope, 24);
  return bytes;
}

// linux/bpf_common.h
const LOAD_HALF = 0x28;
const LOAD_BYTE = 0x30;
const LOAD_HALF_FROM_X = 0x48;
const LOAD_BYTE_FROM_X = 0x50;
const LOAD_X_HEADER_LENGTH = 0xb1;
const AND = 0x54;
const JUMP_IF_EQUAL = 0x15;

/** Without a filter the socket would get every packet of every connection, and lose SYNs when it is full of them. */
function ipv4Syns(port: number): FilterProgram {
  return [[LOAD_X_HEADER_LENGTH, 0, 0, 0], ...synsTo(port, LOAD_HALF_FROM_X, LOAD_BYTE_FROM_X)];
}

function ipv6Syns(port: number): FilterProgram {
  return synsTo(port, LOAD_HALF, LOAD_BYTE);
}

/** SYN, and none of FIN, RST and ACK. */
function synsTo(port: number, loadHalf: number, loadByte: number): FilterProgram {
  return [
    [loadHalf, 0, 0, 2],
    [JUMP_IF_EQUAL, 0, 3, port],
    [loadByte, 0, 0, 13],
    [AND, 0, 0, 0x17],
    [JUMP_IF_EQUAL, 1, 0, 0x02],
    DROP,
    PASS,
  ];
}
