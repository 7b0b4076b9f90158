import { createHash } from 'node:crypto';
import net from 'node:net';
import { expect, it } from 'vitest';
import { SLOW_SIZES, sizeCase } from '../conformance/cases/launchdarkly-sizes.js';
import { bodyOf, type StreamCase } from '../conformance/support/stream-case.js';
import { LANES, lanesOf, notedOf, parserOutcomes } from '../conformance/support/stream-run.js';
import { CASE_HEADER, PATH } from '../conformance/support/wire.js';
import { serve } from '../support/server.js';
import { post } from '../support/witness.js';

/** The events of test/conformance that are too large for it: up to 128 MiB. They are hashed as they come. */

function sha256(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

/** The hash of so many bytes behind the head. */
function behindTheHead(port: number, id: string, length: number): Promise<string> {
  const hash = createHash('sha256');
  const socket = net.connect(port, '127.0.0.1');
  let head = Buffer.alloc(0);
  let left = length;
  let inBody = false;
  return new Promise((resolve, reject) => {
    const take = (bytes: Buffer): void => {
      hash.update(bytes);
      left -= bytes.length;
      if (left > 0) return;
      socket.destroy();
      resolve(hash.digest('hex'));
    };
    socket.on('data', (bytes) => {
      if (inBody) return take(bytes);
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      inBody = true;
      if (head.length > end + 4) take(head.subarray(end + 4));
    });
    socket.on('error', reject);
    socket.on('end', () => reject(new Error(`ended ${left} bytes too soon`)));
    socket.write(post(PATH, '', { [CASE_HEADER]: id, Connection: 'close' }));
  });
}

async function check(one: StreamCase): Promise<void> {
  const server = await serve({ ...LANES, lanes: lanesOf([one]) });
  const [connection] = one.connections;
  const body = connection ? bodyOf(connection) : Buffer.alloc(0);
  const size = `${body.length.toString(16)}\r\n`;
  const seen = await behindTheHead(server.port, `${one.id}/1`, size.length + body.length + 2);
  expect(seen).toBe(sha256(size, body, '\r\n'));
  expect(await parserOutcomes(server.baseURL, [one])).toEqual({ [one.id]: notedOf(one) });
  await server.close();
}

it.each(SLOW_SIZES)('an event of %i bytes', (size) => check(sizeCase(size)));
