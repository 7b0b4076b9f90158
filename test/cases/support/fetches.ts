/**
 * The two fetches of Node users: the one that is built in, and undici from npm. Each with connections of its own kind:
 * whichever is loaded first makes the dispatcher that the other would use too (undici, lib/global.js), so the built-in
 * one is loaded here before anything else can load undici.
 */
void globalThis.Headers;

const MEASURED = '6.';

/** Why the built-in fetch of this Node isn't the one of the table: each major version of Node has another. */
export const NOT_MEASURED = process.versions.undici?.startsWith(MEASURED)
  ? undefined
  : `the table is of the undici ${MEASURED}x in Node 20, and this Node has ${process.versions.undici}`;

export type Fetch = typeof globalThis.fetch;

interface Agents {
  new (options: { readonly bodyTimeout?: number }): object;
}

function builtInAgents(): Agents {
  const dispatcher = (globalThis as unknown as Record<symbol, object | undefined>)[
    Symbol.for('undici.globalDispatcher.1')
  ];
  if (!dispatcher)
    throw new Error("the built-in fetch has made no dispatcher; what it did can't be told from undici's");
  return dispatcher.constructor as unknown as Agents;
}

const BuiltInAgent = builtInAgents();

/** `bodyTimeoutMs`: the most that lies between two pieces of a body. Default: 300 s in both. */
export interface FetchSettings {
  readonly bodyTimeoutMs?: number | undefined;
}

function withDispatcher(fetch: Fetch, dispatcher: object | undefined): Fetch {
  if (!dispatcher) return fetch;
  return (input, init) => fetch(input, { ...init, dispatcher } as RequestInit);
}

export function builtInFetch({ bodyTimeoutMs }: FetchSettings = {}): Fetch {
  return withDispatcher(
    globalThis.fetch,
    bodyTimeoutMs === undefined ? undefined : new BuiltInAgent({ bodyTimeout: bodyTimeoutMs }),
  );
}

/** Its connections live on from one call to the next. */
let shared: object | undefined;

function sharedAgent(Agent: new () => object): object {
  shared ??= new Agent();
  return shared;
}

export async function undiciFetch({ bodyTimeoutMs }: FetchSettings = {}): Promise<Fetch> {
  const { fetch, Agent } = await import('undici');
  const agent = bodyTimeoutMs === undefined ? sharedAgent(Agent) : new Agent({ bodyTimeout: bodyTimeoutMs });
  return withDispatcher(fetch as unknown as Fetch, agent);
}
