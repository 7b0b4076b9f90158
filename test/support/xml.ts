export interface Element {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: Element[];
  text: string;
}

/** A strict reader of the XML that a picture may have: elements, attributes in double quotes, text, four entities. */
export function parsed(source: string): Element {
  const root: Element = { name: '', attributes: new Map(), children: [], text: '' };
  const open = [root];
  // XML 1.0, section 2.2.
  const bad = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.exec(source);
  if (bad) throw new Error(`no character of XML at ${bad.index}`);
  const token = /<(\/?)([a-z][A-Za-z]*)((?:\s+[A-Za-z:-]+="[^"<]*")*)(\/?)>|([^<>]+)/gy;
  for (let at = 0; at < source.length; at = token.lastIndex) {
    token.lastIndex = at;
    const match = token.exec(source);
    if (!match) throw new Error(`no XML at ${at}: ${source.slice(at, at + 60)}`);
    const [whole, close, name = '', written = '', empty, text] = match;
    if (/&(?!(amp|lt|gt|quot);)/.test(whole)) throw new Error(`bare ampersand at ${at}`);
    const parent = open.at(-1) ?? root;
    if (text !== undefined) {
      parent.text += text;
    } else if (close) {
      if (open.pop()?.name !== name) throw new Error(`</${name}> closes another element at ${at}`);
    } else {
      const pairs = Array.from(written.matchAll(/([A-Za-z:-]+)="([^"]*)"/g), ([, key = '', value = '']) => [
        key,
        value,
      ]);
      const attributes = new Map(pairs as [string, string][]);
      if (attributes.size !== pairs.length) throw new Error(`an attribute twice at ${at}`);
      const element: Element = { name, attributes, children: [], text: '' };
      parent.children.push(element);
      if (!empty) open.push(element);
    }
  }
  const [svg] = root.children;
  if (open.length !== 1 || root.children.length !== 1 || !svg || root.text.trim() !== '')
    throw new Error('no one root');
  return svg;
}

export function elementsOf(element: Element): Element[] {
  return [element, ...element.children.flatMap(elementsOf)];
}
