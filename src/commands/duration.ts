import { WirefaultError } from '../errors.js';
import { MAX_TIMER_MS } from '../option-rows.js';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * A time with its unit, `90s` or `1.5m`, or milliseconds without one; `undefined` where it wasn't given.
 * @throws WirefaultError `bad_option`
 */
export function durationOf(flag: string, text: string | undefined, minMs: number): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit = 'ms'] = /^(\d{1,10}(?:\.\d{1,3})?)(ms|s|m|h)?$/.exec(text.trim()) ?? [];
  const ms = number === undefined ? Number.NaN : Math.round(Number(number) * (UNITS[unit] ?? Number.NaN));
  if (ms >= minMs && ms <= MAX_TIMER_MS) return ms;
  const allowed = `a time such as 90s, 10m or 1500ms, of ${minMs} ms to ${Math.floor(MAX_TIMER_MS / 86_400_000)} days`;
  throw new WirefaultError('bad_option', `${flag}: ${JSON.stringify(text)} is not allowed; expected ${allowed}`);
}
