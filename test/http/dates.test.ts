import { describe, expect, it } from 'vitest';
import { datedHead } from '../../src/http/dates.js';
import { planner } from '../support/plans.js';

const NOW = Date.UTC(2026, 7, 9, 4, 5, 6);
const httpDate = (laterMs: number): string => new Date(NOW + laterMs).toUTCString();

describe('dates in the head', () => {
  it.each([
    ['{date+30000ms}', 'Sun, 09 Aug 2026 04:05:36 GMT'],
    ['{date-6000ms}', 'Sun, 09 Aug 2026 04:05:00 GMT'],
    ['until {date+0ms}!', 'until Sun, 09 Aug 2026 04:05:06 GMT!'],
    ['{date}', '{date}'],
    ['{date+30s}', '{date+30s}'],
    ['0.5', '0.5'],
  ])('%s', (value, wanted) => {
    const form = { set: [['Retry-After', value] as const], add: [['x-then', value] as const], remove: ['Date'] };
    expect(datedHead(form, httpDate)).toEqual({
      set: [['Retry-After', wanted]],
      add: [['x-then', wanted]],
      remove: ['Date'],
    });
  });

  it('each answer of a compiled fault has its own', () => {
    let now = NOW;
    const planOf = planner({ fidelity: 'plain' }, () => new Date(now));
    const fault = { head: { set: [['Retry-After', '{date+30000ms}']] } } as const;
    const told = (): string | undefined =>
      /Retry-After: (.*)\r/.exec(planOf(fault, 'openai-chat').bytes.toString('latin1'))?.[1];
    expect(told()).toBe('Sun, 09 Aug 2026 04:05:36 GMT');
    now += 60_000;
    expect(told()).toBe('Sun, 09 Aug 2026 04:06:36 GMT');
  });
});
