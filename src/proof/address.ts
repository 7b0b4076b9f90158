import net from 'node:net';

/** `::ffff:0:0/96`: the first 12 bytes of an IPv4 address that stands in an IPv6 one. */
const MAPPED = Buffer.from('00000000000000000000ffff', 'hex');

/**
 * The bytes of an IP address, 4 or 16. A mapped address is that of an IPv4 socket: `::ffff:127.0.0.1` is 127.0.0.1
 * (RFC 4291, section 2.5.5.2). `undefined` for what is no address.
 */
export function addressBytes(address: string | undefined): Buffer | undefined {
  const plain = address?.split('%')[0] ?? '';
  if (net.isIPv4(plain)) return Buffer.from(plain.split('.').map(Number));
  if (!net.isIPv6(plain)) return undefined;
  const [head = '', tail = ''] = plain.split('::');
  const bytes = Buffer.alloc(16);
  bytes.set(groups(head), 0);
  bytes.set(groups(tail), 16 - groups(tail).length);
  return bytes.subarray(0, 12).equals(MAPPED) ? bytes.subarray(12) : bytes;
}

/** Two bytes for each hexadecimal group; the last one may be an IPv4 address (RFC 4291, section 2.2). */
function groups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number);
    const word = Number.parseInt(group, 16);
    return [word >> 8, word & 0xff];
  });
}
