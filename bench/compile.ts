import type { AnswerContext } from '../src/sse/dialect.js';
import type { Stamps } from '../src/sse/stamps.js';
import { CHUNK_SIZE, DELTAS, REQUEST, textOf } from './harness/answer.js';
import { type BenchOptions, progress, type Report, shown, spreadOf } from './harness/stats.js';

/** What the parts of an answer cost by themselves, without sockets: a loop in this process, on what is built. */

async function built<Module>(file: string): Promise<Module> {
  return (await import(new URL(`../dist/${file}`, import.meta.url).href)) as Module;
}

/** Microseconds for each call, of several rounds after a warm-up. */
function timed(run: () => unknown, { rounds, roundMs }: { rounds: number; roundMs: number }): number[] {
  const results: number[] = [];
  let kept: unknown;
  // A batch lasts about a millisecond, so that reading the clock costs nothing.
  let batch = 1;
  for (let round = 0; round <= rounds; round++) {
    let calls = 0;
    const begun = performance.now();
    let elapsedMs = 0;
    while (elapsedMs < roundMs) {
      const before = elapsedMs;
      for (let n = 0; n < batch; n++) kept = run();
      calls += batch;
      elapsedMs = performance.now() - begun;
      if (elapsedMs - before < 0.5) batch *= 2;
    }
    // The first round is the warm-up.
    if (round > 0) results.push((elapsedMs * 1000) / calls);
  }
  if (kept === undefined) throw new Error('nothing was computed');
  return results;
}

export async function compile({ quick }: BenchOptions): Promise<Report> {
  const plan = await built<typeof import('../src/fault/plan.js')>('fault/plan.js');
  const template = await built<typeof import('../src/fault/template.js')>('fault/template.js');
  const script = await built<typeof import('../src/fault/script.js')>('fault/script.js');
  const catalogue = await built<typeof import('../src/fault/catalogue.js')>('fault/catalogue.js');
  const routes = await built<typeof import('../src/http/routes.js')>('http/routes.js');
  const { requestParser } = await built<typeof import('../src/http/request-parser.js')>('http/request-parser.js');
  const dialects = await built<typeof import('../src/sse/dialects.js')>('sse/dialects.js');
  const stamps = await built<typeof import('../src/sse/stamps.js')>('sse/stamps.js');
  const { resolveOptions } = await built<typeof import('../src/resolve-options.js')>('resolve-options.js');

  const given = {
    successText: textOf(DELTAS),
    chunkSize: CHUNK_SIZE,
    sequence: ['success'],
    repeatLast: true,
  } as const;
  const options = resolveOptions(given, (name) => name);
  const dialect = dialects.DIALECT_OF['openai-chat'];
  const shape = dialect.readRequest({ model: 'gpt-4o-mini', stream: true });
  const fault = catalogue.faultOf('success');
  const planWith = (drawn: Stamps) => {
    const { fidelity, keyOrder, chunkSize } = options;
    const requestId = dialect.requestId(drawn);
    const context: AnswerContext = { request: shape, stamps: drawn, fidelity, keyOrder, chunkSize, requestId };
    const framing = { keepAlive: true, chunkedAllowed: true, gzip: false, seed: 'bench' };
    return plan.compile({ fault, dialect, context, content: options, ...framing });
  };
  const known = template.templateOf(planWith);
  if (!known) throw new Error('a healthy answer has no template');
  const events = known.plan.marks.filter((mark) => mark.kind === 'event').length;

  const requests: Parameters<typeof routes.route>[0][] = [];
  const parser = requestParser(options, {
    onRequest: (request) => {
      requests[0] = request;
    },
    onBad: ({ reason }) => {
      throw new Error(reason);
    },
  });
  parser.feed(REQUEST);
  const [request] = requests;
  if (!request) throw new Error('the request of the benches was not understood');

  let attempt = 0;
  const steps = {
    'parse the request': () => {
      parser.feed(REQUEST);
      return requests;
    },
    'route and select': () => {
      routes.route(request, options);
      return script.select(options.script, 'default', ++attempt);
    },
    'stamp a template': () => {
      const stamped = template.stamp(known, `1/default/${++attempt}`, new Date());
      stamped.lease?.letGo();
      return stamped;
    },
    'compile an answer': () => planWith(stamps.stampsFrom(`1/default/${++attempt}`, new Date())),
    'make a template (two compiles)': () => template.templateOf(planWith),
  };
  const rows = Object.entries(steps).map(([name, run]) => {
    progress(`compile: ${name}`);
    return { name, micros: spreadOf(timed(run, quick ? { rounds: 3, roundMs: 100 } : { rounds: 7, roundMs: 300 })) };
  });
  return {
    data: { events, bytes: known.plan.bytes.length, slots: known.slots.length, rows },
    tables: [
      {
        title: `Compile: an answer of ${events} events and ${known.plan.bytes.length} bytes, in this process; median (min..max)`,
        columns: ['step', 'µs each'],
        rows: rows.map(({ name, micros }) => [name, shown(micros, 2)]),
      },
    ],
  };
}
