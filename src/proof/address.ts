import net from 'node:net';

/**
 * The bytes of an IP address, 4 or 16. A mapped address is that of an IPv4 socket: `::ffff:127.0.0.1` is 127.0.0.1
 * (RFC 4291, section 2.5.5.2). `undefined` for what is no address.
 */
export function addressBytes(address: string | undefined): Buffer | undefined {
  if (address === undefined) return undefined;
  const plain = (address.split('%')[0] ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
  if (net.isIPv4(plain)) return Buffer.from(plain.split('.').map(Number));
  if (!net.isIPv6(plain)) return undefined;
  const [head = '', tail = ''] = plain.split('::');
  const first = words(head);
  const last = words(tail);
  const bytes = Buffer.alloc(16);
  first.forEach((word, n) => {
    bytes.writeUInt16BE(word, n * 2);
  });
  last.forEach((word, n) => {
    bytes.writeUInt16BE(word, 16 - (last.length - n) * 2);
  });
  return bytes;
}

function words(text: string): number[] {
  return text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
}
