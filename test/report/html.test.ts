import { describe, expect, it } from 'vitest';
import { excerptOf } from '../../src/report/excerpt.js';
import { html, raw, textOf } from '../../src/report/html.js';

describe('templates', () => {
  it.each([
    ['text', '<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    ['an attribute', '" onload="x', '&quot; onload=&quot;x'],
    ['a reference', '&lt;', '&amp;lt;'],
    ['what steers a terminal', 'a\x1b[2Jb\r\x07', 'a\\x1b[2Jb\\r\\x07'],
    ['what turns the direction of writing', 'a\u202eb', 'a\\u{202e}b'],
    ['lines and tabs', 'a\n\tb', 'a\n\tb'],
    ['half a character', 'a\ud800b', 'a\\u{d800}b'],
  ])('escape %s', (_, given, written) => {
    expect(textOf(html`<p>${given}</p>`)).toBe(`<p>${written}</p>`);
  });

  it('keep what templates have made, in lists too, and write nothing for nothing', () => {
    const rows = ['a', '<'].map((one) => html`<li>${one}</li>`);
    expect(textOf(html`<ul>${rows}${undefined}${[]}</ul>${3}${raw('<hr>')}`)).toBe(
      '<ul><li>a</li><li>&lt;</li></ul>3<hr>',
    );
  });
});

describe('excerpts', () => {
  it.each([
    ['short', 10, { head: 'short', leftOut: 0, tail: '' }],
    ['0123456789', 4, { head: '01', leftOut: 6, tail: '89' }],
    ['0123456789', 5, { head: '01', leftOut: 6, tail: '89' }],
  ])('%j in %i characters', (text, most, kept) => {
    expect(excerptOf(text, most)).toEqual(kept);
  });
});
