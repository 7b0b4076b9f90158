import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/fault/catalogue.js';
import { blocksIn, contentBlocks, withoutBlocks } from '../../src/fault/content-blocks.js';
import { isObject, PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { stampsFrom } from '../../src/sse/stamps.js';
import { headerOf, readAnswer } from '../support/http.js';
import { type Asked, planner } from '../support/plans.js';

const blocks = (count: number, seed = 'seed'): string[] => contentBlocks(count, stampsFrom(seed, new Date(0)));

/** What a judge looks for, among much else. */
const JUDGE = /truncat|retry|error|fail|cut|incomplete|abort|timeout|interrupt|partial|stop/i;

describe('paragraphs', () => {
  it('are numbered, marked and one line each', () => {
    const told = blocks(1000);
    expect(told).toHaveLength(1000);
    told.forEach((paragraph, at) => {
      expect(paragraph).toMatch(/^\[\d+:[A-Za-z0-9]{12}\]( [a-z]{4}){18}\.$/);
      expect(paragraph.startsWith(`[${at + 1}:`)).toBe(true);
    });
  });

  it('have no word that a judge looks for, even across words', () => {
    for (const paragraph of blocks(1000)) {
      const words = paragraph.replace(/^\[.*?\]/, '');
      expect(words).not.toMatch(JUDGE);
      expect(words.replace(/[^a-z]/g, '')).not.toMatch(JUDGE);
    }
  });

  it('have marks of their own, within an answer and over answers', () => {
    const marks = ['1', '2', '3', '4'].flatMap((seed) => blocks(250, seed).map((text) => text.split(/[:\]]/)[1]));
    expect(new Set(marks).size).toBe(1000);
  });
});

describe('a transcript', () => {
  const told = blocks(12);
  const marks = told.map((text) => text.split(/[:\]]/)[1] ?? '');
  const found = (text: string): number[] => blocksIn(text).map(({ number }) => number);

  it('has its paragraphs in the order in which they stand', () => {
    expect(blocksIn(told.join('\n\n'))).toEqual(marks.map((mark, at) => ({ number: at + 1, mark })));
    expect(found([...told].reverse().join('\n'))).toEqual(told.map((_, at) => 12 - at));
    expect(found(`> ${told[2]}\n\u001b[32m${told[0]}\u001b[0m\n${told[2]}`)).toEqual([3, 1, 3]);
  });

  it('has a paragraph as soon as its mark is whole', () => {
    const [first = ''] = told;
    const markEnd = first.indexOf(']') + 1;
    for (let length = 0; length <= first.length; length++) {
      expect(found(`$ run\n${first.slice(0, length)}`)).toEqual(length < markEnd ? [] : [1]);
    }
  });

  it.each(['', 'no marks', '[1:short]', '[1:toolongmark123]', '[x:abcdefghijkl]', '[1 abcdefghijkl]'])(
    'of %j has none and is left alone',
    (text) => {
      expect(blocksIn(text)).toEqual([]);
      expect(withoutBlocks(text)).toBe(text);
    },
  );

  it('without its paragraphs is what the client itself said', () => {
    const said = ['> run', '', 'Error: stream truncated', ''];
    expect(withoutBlocks(`${said[0]}\n${told.join('\n\n')}\n${said[2]}\n`)).toBe(
      `${said[0]}\n${'\n'.repeat(2 * (told.length - 1))}\n${said[2]}\n`,
    );
  });

  it('without a paragraph that ends anywhere is what stands before and behind it', () => {
    const [first = ''] = told;
    for (let length = first.indexOf(']') + 1; length <= first.length; length++) {
      const rest = withoutBlocks(`> run\n${first.slice(0, length)}\n[error] retry`);
      expect(rest.replace(/ $/m, '')).toBe('> run\n\n[error] retry');
    }
  });

  it('without paragraphs that a terminal has wrapped is without all of their lines', () => {
    const wrapped = told.join('\n\n').replace(/(.{30,38}) /g, '$1\n  ');
    expect(withoutBlocks(wrapped)).toMatch(/^\s*$/);
  });

  it.each([' (truncated)', ' ⚠ response interrupted', '… Error: terminated', ' - retrying'])(
    "keeps the client's own %j on the line of a paragraph",
    (own) => {
      expect(withoutBlocks(`[1:abcdefghijkl] lumo sena vana${own}\n`)).toContain(own.trim());
    },
  );
});

/** The text of an answer as a client has it. */
function textOf(protocol: Protocol, body: string): string {
  const objects = body.startsWith('{') ? [body] : [...body.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '']) => json);
  const texts: string[] = [];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    if (!isObject(value)) return;
    if (typeof value.type === 'string' && /\.(done|completed|incomplete|added|created)$/.test(value.type)) return;
    for (const [key, inner] of Object.entries(value)) {
      const says = {
        'openai-chat': ['content'],
        'openai-responses': ['delta', 'text'],
        'anthropic-messages': ['text'],
      };
      if (says[protocol].includes(key) && typeof inner === 'string') texts.push(inner);
      walk(inner);
    }
  };
  for (const json of objects) walk(JSON.parse(json));
  return texts.join('');
}

function told(
  behavior: ConcreteBehaviorName,
  protocol: Protocol,
  stream: boolean,
  asked: Asked & { count?: number } = {},
) {
  const { count = 5, ...rest } = asked;
  const answer = readAnswer(planner({ contentBlocks: count })(behavior, protocol, { ...rest, body: { stream } }).bytes);
  if (!answer) throw new Error('no answer');
  return { text: textOf(protocol, answer.body.toString()), type: headerOf(answer, 'content-type') };
}

describe.each(PROTOCOLS.flatMap((protocol) => [true, false].map((stream) => [protocol, stream] as const)))(
  'an answer of %s, stream %s',
  (protocol, stream) => {
    it('tells all paragraphs, with an empty line between them', () => {
      const { text, type } = told('success', protocol, stream);
      expect(type).toBe(stream ? 'text/event-stream; charset=utf-8' : 'application/json');
      expect(blocksIn(text).map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
      expect(withoutBlocks(text)).toBe('\n\n'.repeat(4));
    });

    it('tells the first half of the same paragraphs where it is partial', () => {
      const whole = told('success', protocol, stream).text.split('\n\n');
      expect(told('content_filter', protocol, stream).text.split('\n\n')).toEqual(whole.slice(0, 3));
      expect(told('content_filter', protocol, stream, { count: 1 }).text).toMatch(/^\[1:\w{12}\] .*\.$/);
      expect(told('content_filter', protocol, stream, { count: 2 }).text).toMatch(/^\[1:\w{12}\] [^[]*\.$/);
      if (stream) return expect(told('partial_eof', protocol, stream).text.split('\n\n')).toEqual(whole.slice(0, 3));
      // Half a JSON text: its words end where the body does.
      const cut = planner({ contentBlocks: 5 })('partial_eof', protocol, { body: { stream } });
      const words = JSON.stringify(whole.slice(0, 3).join('\n\n')).slice(1, -1);
      expect(readAnswer(cut.bytes)?.body.toString().endsWith(`"${words}`)).toBe(true);
    });

    it('has marks of its own in each attempt', () => {
      const attempts = [1, 2, 3].map((attempt) => told('success', protocol, stream, { attempt }).text);
      const marks = attempts.flatMap((text) => blocksIn(text).map(({ mark }) => mark));
      expect(new Set(marks).size).toBe(15);
    });

    it('tells a partialText that is given as it is', () => {
      const plan = planner({ contentBlocks: 5, partialText: 'given' })('content_filter', protocol, {
        body: { stream },
      });
      expect(textOf(protocol, readAnswer(plan.bytes)?.body.toString() ?? '')).toBe('given');
    });
  },
);
