import { describe, expect, it } from 'vitest';
import type { FaultSpec } from '../../src/fault/spec.js';
import { pulseBytes } from '../../src/fault/wire-plan.js';
import { planner } from '../support/plans.js';

/** The sequence numbers of Responses in a stream that has blocks without data in it, which are no events to a reader. */
const planOf = planner({ fidelity: 'plain' });
const BLOCKS = [{ comment: 'ping' }, { retry: '3000' }, { event: 'x' }, { id: '7' }, { raw: ':\n\n' }] as const;

function numbersOf(fault: FaultSpec): number[] {
  const text = planOf(fault, 'openai-responses').bytes.toString();
  return [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
}

describe('sequence numbers', () => {
  it.each(BLOCKS)('have no gap where %j stands', (event) => {
    const healthy = numbersOf({});
    expect(healthy).toEqual(healthy.map((_, n) => n));
    const before = { role: 'delta' } as const;
    expect(numbersOf({ events: [{ op: 'insert', event, before, times: 3 }] })).toEqual(healthy);
    expect(numbersOf({ events: [{ op: 'insert', event, before: { nth: 1 } }] })).toEqual(healthy);
  });

  it('an event with data of its own takes one', () => {
    const event = { event: 'error', data: { type: 'error' } };
    const numbers = numbersOf({ events: [{ op: 'insert', event, before: { role: 'delta', nth: 1 } }] });
    expect(numbers.slice(3, 6)).toEqual([3, 5, 6]);
  });

  it('a pulse goes on from the number of its event', () => {
    const plan = planOf(
      {
        events: [
          { op: 'keep', where: { role: 'open' } },
          { op: 'insert', event: { comment: 'ping' }, before: { nth: 1 } },
          { op: 'insert', event: 'keepalive' },
        ],
        pace: { pulse: { everyMs: 1, times: 2 } },
      },
      'openai-responses',
    );
    const pulse = plan.steps.find((step) => step.op === 'pulse');
    if (!pulse) throw new Error('no pulse');
    expect(plan.bytes.toString('utf8', pulse.start, pulse.end)).toContain('"sequence_number":2');
    expect(pulseBytes(plan, pulse, 1).toString()).toContain('"sequence_number":3');
  });
});
