import { getSystemErrorName } from 'node:util';

/**
 * The system calls on sockets that Node doesn't offer, on Linux, through the optional library koffi. Socket options,
 * addresses and BPF instructions are written in the byte order of the host, which is little wherever koffi runs.
 */
export interface Libc {
  /** A new raw socket for TCP, which never blocks, or the name of the error (`EPERM`). */
  rawSocket(family: Family): number | string;
  close(fd: number): void;
  enable(fd: number, level: number, option: number): boolean;
  /** From the call on the kernel drops the packets to this socket that the program rejects. */
  attachFilter(fd: number, program: FilterProgram): boolean;
  detachFilter(fd: number): boolean;
  /** Whether sockets can have filters here: a sandbox may lack them. */
  filters(): boolean;
  receiver(fd: number): Receiver;
  /** `false` where the kernel didn't take it. */
  sendTo(fd: number, packet: Buffer, socketAddress: Buffer): boolean;
}

/** Reads one packet of a raw socket; `undefined` while there is none. The buffers are overwritten by the next one. */
export type Receiver = () => Packet | undefined;

interface Packet {
  readonly bytes: Buffer;
  /** `struct sockaddr_in` or `sockaddr_in6` of the sender. */
  readonly socketAddress: Buffer;
  /** The first control message's data (cmsg(3)). */
  readonly control: Buffer;
}

/** Classic BPF (linux/filter.h): code, jump if true, jump if false, operand. */
export type FilterProgram = readonly (readonly [code: number, ifTrue: number, ifFalse: number, operand: number])[];

/** sys/socket.h */
export const AF_INET = 2;
export const AF_INET6 = 10;
export type Family = typeof AF_INET | typeof AF_INET6;

// sys/socket.h, asm-generic/socket.h
const SOCK_STREAM = 1;
const SOCK_RAW = 3;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_ATTACH_FILTER = 26;
const SO_DETACH_FILTER = 27;
/** The same number, asked for: how many instructions are attached. */
const SO_GET_FILTER = 26;
const IPPROTO_TCP = 6;

/** linux/filter.h: BPF_RET | BPF_K, of how many bytes of the packet pass. */
const RETURN = 0x06;
export const PASS: FilterProgram[number] = [RETURN, 0, 0, 0xffff];
export const DROP: FilterProgram[number] = [RETURN, 0, 0, 0];
const INSTRUCTION_BYTES = 8;

/** More than a SYN can have: 60 bytes of IP header, 60 of TCP header, and the data of TCP Fast Open in one segment. */
const MAX_PACKET_BYTES = 65_536;
const SOCKET_ADDRESS_BYTES = 28;
const CONTROL_BYTES = 128;

let shared: Promise<Libc | undefined> | undefined;

/** `undefined` where there is no koffi, or no Linux. */
export function libc(): Promise<Libc | undefined> {
  shared ??= load();
  return shared;
}

async function load(): Promise<Libc | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    return callsOf(await import('koffi'));
  } catch {
    // Not installed, or a C library of another kind.
    return undefined;
  }
}

function callsOf(koffi: typeof import('koffi')): Libc {
  const library = koffi.load(null);
  // linux/filter.h `sock_fprog`; bits/socket.h `iovec`, `msghdr`
  const Program = koffi.struct({ length: 'uint16_t', instructions: 'void *' });
  const Vector = koffi.struct({ base: 'void *', length: 'size_t' });
  const Message = koffi.struct({
    name: 'void *',
    nameLength: 'uint32_t',
    vectors: koffi.pointer(Vector),
    vectorCount: 'size_t',
    control: 'void *',
    controlLength: 'size_t',
    flags: 'int',
  });
  const controlHeaderBytes = koffi.sizeof('size_t') + 8;

  const openSocket = library.func('int socket(int domain, int type, int protocol)');
  const closeFd = library.func('int close(int fd)');
  const setOption = library.func('int setsockopt(int fd, int level, int name, const void *value, uint32_t length)');
  const getOption = library.func('int getsockopt(int fd, int level, int name, void *value, void *length)');
  const setProgram = library.func('setsockopt', 'int', ['int', 'int', 'int', koffi.pointer(Program), 'uint32_t']);
  const receive = library.func('recvmsg', 'intptr_t', ['int', koffi.pointer(Message), 'int']);
  const send = library.func(
    'intptr_t sendto(int fd, const void *bytes, size_t length, int flags, const void *address, uint32_t addressLength)',
  );
  const one = Buffer.from([1, 0, 0, 0]);

  function attachFilter(fd: number, program: FilterProgram): boolean {
    const instructions = Buffer.alloc(program.length * INSTRUCTION_BYTES);
    for (const [index, [code, ifTrue, ifFalse, operand]] of program.entries()) {
      const at = instructions.writeUInt16LE(code, index * INSTRUCTION_BYTES);
      instructions.writeUInt32LE(operand, instructions.writeUInt8(ifFalse, instructions.writeUInt8(ifTrue, at)));
    }
    const value = { length: program.length, instructions };
    return Number(setProgram(fd, SOL_SOCKET, SO_ATTACH_FILTER, value, koffi.sizeof(Program))) === 0;
  }

  return {
    rawSocket: (family) => {
      const fd = Number(openSocket(family, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
      return fd >= 0 ? fd : getSystemErrorName(-koffi.errno());
    },
    close: (fd) => {
      closeFd(fd);
    },
    enable: (fd, level, option) => Number(setOption(fd, level, option, one, one.length)) === 0,
    attachFilter,
    detachFilter: (fd) => Number(setOption(fd, SOL_SOCKET, SO_DETACH_FILTER, one, one.length)) === 0,
    filters: () => {
      const fd = Number(openSocket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (fd < 0) return false;
      const found = Buffer.alloc(INSTRUCTION_BYTES);
      const count = Buffer.from([1, 0, 0, 0]);
      const attached = attachFilter(fd, [DROP]) && Number(getOption(fd, SOL_SOCKET, SO_GET_FILTER, found, count)) === 0;
      closeFd(fd);
      return attached && found.readUInt16LE(0) === RETURN;
    },
    receiver: (fd) => {
      const bytes = Buffer.alloc(MAX_PACKET_BYTES);
      const socketAddress = Buffer.alloc(SOCKET_ADDRESS_BYTES);
      const control = Buffer.alloc(CONTROL_BYTES);
      const message = {
        name: socketAddress,
        nameLength: socketAddress.length,
        vectors: [{ base: bytes, length: bytes.length }],
        vectorCount: 1,
        control,
        controlLength: control.length,
        flags: 0,
      };
      return () => {
        const length = Number(receive(fd, message, 0));
        if (length < 0) return undefined;
        return { bytes: bytes.subarray(0, length), socketAddress, control: control.subarray(controlHeaderBytes) };
      };
    },
    sendTo: (fd, packet, socketAddress) =>
      Number(send(fd, packet, packet.length, 0, socketAddress, socketAddress.length)) === packet.length,
  };
}
