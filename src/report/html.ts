import { xml } from '../fault/explain-svg-text.js';

/**
 * Templates of HTML in which every value is escaped, but for what a template or `raw` has made. Own code, since what is
 * needed of a library is these lines, and since evidence has to be more than escaped: its control characters and its
 * marks of direction are shown, as in the pictures of `explain`. Attributes are always written in double quotes. Pure.
 */
const MARKUP = Symbol('markup');

/** Known by a symbol: nothing that was read from JSON can pose as it. */
export interface Html {
  readonly [MARKUP]: string;
}

export type HtmlValue = string | number | Html | undefined | readonly HtmlValue[];

export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return raw(parts.map((part, n) => part + (n < values.length ? written(values[n]) : '')).join(''));
}

/** Only for what wirefault itself has drawn: pictures, and the page's own style and script. */
export function raw(text: string): Html {
  return { [MARKUP]: text };
}

export function textOf(markup: Html): string {
  return markup[MARKUP];
}

function written(value: HtmlValue): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return escaped(value);
  if (typeof value === 'number') return String(value);
  return MARKUP in value ? value[MARKUP] : value.map(written).join('');
}

/** Lines stay lines, and tabs tabs. */
function escaped(text: string): string {
  return text.replaceAll(/[^\n\t]+/g, xml);
}
