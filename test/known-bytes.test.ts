import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { remembered } from '../src/known-bytes.js';

describe('what is remembered of bytes', () => {
  it('is what is made of them, whatever came before', () => {
    const bytes = fc.uint8Array({ maxLength: 3, max: 2 });
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 60 }), (all) => {
        const shared = remembered(
          (one) => one.toString('hex'),
          (one) => `shared ${one.toString('hex')}`,
        );
        const known = remembered((one) => one.toString('hex'));
        for (const one of all) {
          const hex = Buffer.from(one).toString('hex');
          expect(known(Buffer.from(one))).toBe(hex);
          expect([hex, `shared ${hex}`]).toContain(shared(Buffer.from(one)));
        }
      }),
    );
  });

  it('is made once for all, where nothing else is asked for', () => {
    let made = 0;
    const known = remembered((bytes) => ({ text: bytes.toString(), nth: ++made }));
    const first = known(Buffer.from('one'));
    expect(known(Buffer.from('one'))).toBe(first);
    expect(known(Buffer.from('two'))).toMatchObject({ text: 'two', nth: 2 });
    expect(known(Buffer.from('one'))).toBe(first);
  });

  it('is made to be shared the second time, and not before', () => {
    const made: string[] = [];
    const known = remembered(
      (bytes) => ({ own: bytes.toString(), n: made.push('own') }),
      (bytes) => ({ own: bytes.toString(), n: made.push('shared') }),
    );
    const [first, second, third] = [known(Buffer.from('a')), known(Buffer.from('a')), known(Buffer.from('a'))];
    expect(made).toEqual(['own', 'shared']);
    expect(second).not.toBe(first);
    expect(third).toBe(second);
  });

  it('outlives the memory in which the bytes came', () => {
    const known = remembered((bytes) => bytes.toString());
    const memory = Buffer.from('first');
    expect(known(memory)).toBe('first');
    memory.write('other');
    expect(known(memory)).toBe('other');
    expect(known(Buffer.from('first'))).toBe('first');
  });

  it('is forgotten when others took its place', () => {
    let made = 0;
    const known = remembered(() => ++made);
    for (let n = 0; n < 9; n++) known(Buffer.from(`${n}`));
    expect(known(Buffer.from('8'))).toBe(9);
    expect(known(Buffer.from('0'))).toBe(10);
  });
});
