import { STATUS_CODES } from 'node:http';
import { expect } from 'vitest';
import type { LaneScript } from '../../../src/options.js';
import { headerOf, readAnswer } from '../../support/http.js';
import { serve } from '../../support/server.js';
import { faultsOf, locationOf, REDIRECTED, type RedirectCase } from '../cases/redirects.js';
import { resultInWords, resultOf } from './message-case.js';
import { LANES } from './stream-run.js';
import { PATH, see } from './wire.js';

/** Asks for redirects, as a raw witness and as undici, which follows them to the same server or to another one. */

function lanesOf(cases: readonly RedirectCase[], other: string): Record<string, LaneScript> {
  return Object.fromEntries(cases.map((one) => [one.id, { sequence: faultsOf(one, other), repeatLast: true }]));
}

export async function expectRedirects(cases: readonly RedirectCase[]): Promise<void> {
  const other = await serve({ sequence: [REDIRECTED], repeatLast: true });
  const lanes = lanesOf(cases, other.baseURL);
  const wire = await serve({ ...LANES, lanes });
  for (const one of cases) {
    const { bytes, end } = await see(wire.port, one.id);
    const statusLine = `HTTP/1.1 ${one.status} ${STATUS_CODES[one.status]}\r\n`;
    expect(bytes.toString('latin1', 0, statusLine.length)).toBe(statusLine);
    const answer = readAnswer(bytes);
    expect(answer).toMatchObject({ body: Buffer.alloc(0), complete: true });
    expect(answer && headerOf(answer, 'location')).toBe(locationOf(one, other.baseURL));
    expect(end).toBe('fin');
  }
  const server = await serve({ ...LANES, lanes });
  const outcomes: Record<string, string> = {};
  for (const { id } of cases) outcomes[id] = await outcomeOf(`${server.baseURL}${PATH}`, id);
  expect(outcomes).toEqual(Object.fromEntries(cases.map(({ id, undici }) => [id, undici])));
}

/** The status in the end, and the stream where there is one. */
async function outcomeOf(url: string, id: string): Promise<string> {
  const result = await resultOf(url, id);
  if (result === 'network error') return result;
  const { status, statusText, body } = result;
  return resultInWords({ status, statusText, ...(status === 200 ? { body } : {}) });
}
