import type { Har } from 'har-format';
import { messageOf, WirefaultError } from '../errors.js';
import { harOf } from './har.js';
import { readDirectory, readRequest } from './read-directory.js';

/**
 * A directory of recordings as a HAR. Keys are as they are there: masked, unless they were recorded with --no-redact.
 * @throws WirefaultError `bad_recording`
 */
export async function harOfDirectory(dir: string): Promise<Har> {
  try {
    const tapes = await readDirectory(dir);
    const exchanges = await Promise.all(
      tapes.map(async (tape) => {
        const { request, recordedAt } = await readRequest(dir, tape.name);
        const { method, target, headers, body } = request;
        const told = { recordedAt, method, target, host: headers.host ?? '', headers: Object.entries(headers), body };
        return { tape, request: told };
      }),
    );
    return harOf(exchanges);
  } catch (thrown) {
    if (thrown instanceof WirefaultError) throw thrown;
    throw new WirefaultError('bad_recording', `--har: ${messageOf(thrown)}`, { cause: thrown });
  }
}
