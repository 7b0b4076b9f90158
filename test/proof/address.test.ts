import { describe, expect, it } from 'vitest';
import { addressBytes } from '../../src/proof/address.js';

/** Addresses as RFC 4291, section 2.2 writes them, and their bytes in hexadecimal. */
const ADDRESSES = [
  ['127.0.0.1', '7f000001'],
  ['255.0.10.1', 'ff000a01'],
  ['::', '00000000000000000000000000000000'],
  ['::1', '00000000000000000000000000000001'],
  ['1::', '00010000000000000000000000000000'],
  ['fe80::1', 'fe800000000000000000000000000001'],
  ['fe80::1%eth0', 'fe800000000000000000000000000001'],
  ['2001:db8::8:800:200c:417a', '20010db80000000000080800200c417a'],
  ['2001:DB8:0:0:8:800:200C:417A', '20010db80000000000080800200c417a'],
  ['ff01:0:0:0:0:0:0:101', 'ff010000000000000000000000000101'],
  ['1:2:3:4:5:6:7::', '00010002000300040005000600070000'],
  ['::2:3:4:5:6:7:8', '00000002000300040005000600070008'],
  // An IPv4 address at the end of one that isn't mapped.
  ['64:ff9b::192.0.2.33', '0064ff9b0000000000000000c0000221'],
  ['::13.1.68.3', '0000000000000000000000000d014403'],
  // Mapped ones are those of an IPv4 socket.
  ['::ffff:127.0.0.1', '7f000001'],
  ['::FFFF:129.144.52.38', '81903426'],
  ['0:0:0:0:0:ffff:127.0.0.1', '7f000001'],
  ['::ffff:7f00:1', '7f000001'],
  // And what looks like it isn't.
  ['::fffe:127.0.0.1', '00000000000000000000fffe7f000001'],
  ['1::ffff:127.0.0.1', '00010000000000000000ffff7f000001'],
] as const;

describe('the bytes of an address', () => {
  for (const [address, hex] of ADDRESSES) {
    it(address, () => {
      expect(addressBytes(address)?.toString('hex')).toBe(hex);
    });
  }

  it('of what is no address there are none', () => {
    for (const text of ['', 'localhost', '127.0.0', '1.2.3.256', '1:2:3', ':::', '::1::', 'g::1', undefined]) {
      expect(addressBytes(text)).toBeUndefined();
    }
  });
});
