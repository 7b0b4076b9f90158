import type { Asked, Unknown } from '../../src/asked.js';
import type { Named, Selection } from '../../src/fault/script.js';
import type { RequestHead } from '../../src/http/request.js';
import type { GivenOptions } from '../../src/options.js';
import { resolveOptions } from '../../src/resolve-options.js';
import { namedRule } from '../../src/resolve-script.js';
import { type Selector, selectorOf } from '../../src/selector.js';
import type { JsonObject, Protocol } from '../../src/sse/dialect.js';

/** A selector as the server makes it, without a server. */
export interface Selecting extends Selector {
  inject(rule: Parameters<typeof namedRule>[0]): void;
}

export function selecting(given: GivenOptions = {}): Selecting {
  const options = resolveOptions({ randomSeed: 42, ...given }, (name) => name);
  const selector = selectorOf(options);
  const inject: Selecting['inject'] = (rule) => {
    const { spec, named, later }: { spec: typeof rule; named: Named; later?: Named } = namedRule(
      rule,
      'rule',
      options.catalogue,
    );
    selector.rules.add(spec, named, later);
  };
  return Object.defineProperties({ inject } as Selecting, Object.getOwnPropertyDescriptors(selector));
}

export interface Asking {
  readonly target?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
  readonly connection?: number;
  readonly protocol?: Protocol;
}

export function headOf({ target = '/v1/chat/completions', headers = {} }: Asking = {}): RequestHead {
  const [path = ''] = target.split('?');
  return { method: 'POST', target, path, httpVersion: '1.1', headers, keepAlive: true, expectsContinue: false };
}

/** A whole request, as the server knows it. */
export function asking(asking: Asking = {}): Asked {
  const { body: json = {}, connection = 1, protocol = 'openai-chat' } = asking;
  return { connection, head: headOf(asking), protocol, body: Buffer.from(JSON.stringify(json)), json };
}

/** What was chosen, and by whom. */
export function told(selection: Selection | Unknown): string {
  switch (selection.kind) {
    case 'behavior':
      return `${selection.source}: ${selection.behavior}`;
    case 'exhausted':
      return 'exhausted';
    case 'unknown':
      return 'unknown';
    default:
      return selection satisfies never;
  }
}

export function choose(selector: Selecting, asked: Asking = {}): string {
  return told(selector.request(asking(asked)));
}
