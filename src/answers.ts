import { LRUCache } from 'lru-cache';
import { compile, type PlanInput } from './fault/plan.js';
import { drawSeed } from './fault/random.js';
import type { Selection } from './fault/script.js';
import type { FaultSpec } from './fault/spec.js';
import { type PlanTemplate, stamp, templateOf } from './fault/template.js';
import type { WirePlan } from './fault/wire-plan.js';
import { turnOf } from './fault/words.js';
import type { Request } from './http/request.js';
import type { ResolvedOptions } from './options.js';
import type {
  AnswerContext,
  Dialect,
  HttpError,
  JsonObject,
  OddEvent,
  Protocol,
  RequestShape,
  StreamEvent,
} from './sse/dialect.js';
import { answeringDialect, DIALECT_OF } from './sse/dialects.js';
import { type Stamps, stampsFrom } from './sse/stamps.js';

/** What of a request the answer depends on, beside its body. */
type Asked = Pick<Request, 'headers' | 'keepAlive' | 'httpVersion'>;

type Chosen = Selection & { readonly kind: 'behavior' };

/** From a selection to the plan that answers it: compiled once for each kind of request, stamped for each one. */
export interface Answers {
  /** What a fault puts into an answer that somebody else tells. */
  material(selection: Chosen, protocol: Protocol, body: JsonObject): Material;
  plan(selection: Chosen, protocol: Protocol, body: JsonObject, request: Asked): WirePlan;
  /** The provider's own error for a request that never reached the script. */
  error(kind: 'auth_error' | 'invalid_request', message: string, protocol: Protocol): HttpError;
}

export interface Material {
  readonly context: AnswerContext;
  readonly seed: string;
  odd(kind: OddEvent): readonly StreamEvent[];
}

/** Templates kept; a run uses a few for each behavior, and a client that varies its model or limits can't fill memory. */
const MAX_TEMPLATES = 512;

/** Answers that are told apart by the objects that they are made of, before a key is made of what is in those. */
const MAX_RECENT = 8;

/** What a template was found by. */
interface Recent {
  readonly body: JsonObject;
  readonly fault: FaultSpec;
  readonly headers: Asked['headers'];
  readonly protocol: Protocol;
  readonly keepAlive: boolean;
  readonly httpVersion: Asked['httpVersion'];
  readonly template: PlanTemplate;
}

/** The time, one object for each millisecond: a date takes 120 bytes, and answers come by tens in one (measured). */
function clock(): () => Date {
  let last = new Date();
  return () => {
    const ms = Date.now();
    if (last.getTime() !== ms) last = new Date(ms);
    return last;
  };
}

/** `now` tells the time that answers carry. */
export function answersOf(options: ResolvedOptions, now = clock()): Answers {
  const templates = new LRUCache<string, PlanTemplate | 'none'>({ max: MAX_TEMPLATES });

  /** Faults are told apart as objects: two of them may have one name. */
  const numbers = new WeakMap<FaultSpec, number>();
  let faults = 0;
  function numberOf(fault: FaultSpec): number {
    const known = numbers.get(fault) ?? ++faults;
    numbers.set(fault, known);
    return known;
  }

  const recents: Recent[] = [];
  let oldest = 0;

  /**
   * The template of an answer whose objects are those of an earlier one: requests with the same bytes share body and
   * headers. Reading the body's fields and making a key of them costs 1.3 kB and 2 µs (measured).
   */
  function recentTemplate(fault: FaultSpec, protocol: Protocol, body: JsonObject, request: Asked) {
    for (let n = 0; n < recents.length; n++) {
      const recent = recents[n];
      if (recent?.body !== body || recent.fault !== fault || recent.headers !== request.headers) continue;
      const { keepAlive, httpVersion } = request;
      if (recent.protocol === protocol && recent.keepAlive === keepAlive && recent.httpVersion === httpVersion) {
        return recent.template;
      }
    }
    return undefined;
  }

  /** Only a body that is frozen says the same each time. */
  function keepRecent(
    template: PlanTemplate,
    { fault }: Chosen,
    protocol: Protocol,
    body: JsonObject,
    how: Asked,
  ): void {
    if (!Object.isFrozen(body)) return;
    const { headers, keepAlive, httpVersion } = how;
    recents[oldest] = { body, fault, headers, protocol, keepAlive, httpVersion, template };
    oldest = (oldest + 1) % MAX_RECENT;
  }

  function contextOf(dialect: Dialect, request: RequestShape, stamps: Stamps): AnswerContext {
    const { fidelity, keyOrder, chunkSize } = options;
    return {
      request,
      stamps,
      fidelity,
      keyOrder,
      chunkSize,
      requestId: options.requestId ?? dialect.requestId(stamps),
    };
  }

  function seedOf({ key, lane, attempt }: Chosen): string {
    return key
      ? drawSeed(options.script.seed, `${key.name}=${key.value}`, 1)
      : drawSeed(options.script.seed, lane, attempt);
  }

  function material(selection: Chosen, protocol: Protocol, body: JsonObject): Material {
    const shape = DIALECT_OF[protocol].readRequest(body);
    const seed = seedOf(selection);
    const dialect = answeringDialect(protocol, {
      model: shape.model,
      showsReasoning: false,
      variant: options.chatVariant,
    });
    const context = contextOf(dialect, shape, stampsFrom(seed, selection.key?.since ?? now()));
    const silent = { text: 'none', finish: 'stop' } as const;
    return { context, seed, odd: (kind) => dialect.tell(turnOf(silent, options, context), context).odd(kind) };
  }

  /** In a function of its own: what a closure holds is made room for each time that the function around it is called. */
  function compiling(
    dialect: Dialect,
    shape: RequestShape,
    how: Omit<PlanInput, 'dialect' | 'context' | 'content'>,
  ): (stamps: Stamps) => WirePlan {
    return (stamps) => compile({ ...how, dialect, context: contextOf(dialect, shape, stamps), content: options });
  }

  function plan(selection: Chosen, protocol: Protocol, body: JsonObject, request: Asked): WirePlan {
    const recent = recentTemplate(selection.fault, protocol, body, request);
    if (recent) return stamp(recent, seedOf(selection), selection.key?.since ?? now());
    return lookedUp(selection, protocol, body, request);
  }

  function lookedUp(selection: Chosen, protocol: Protocol, body: JsonObject, request: Asked): WirePlan {
    const { fault } = selection;
    const shape = DIALECT_OF[protocol].readRequest(body);
    const { keepAlive } = request;
    const chunkedAllowed = request.httpVersion === '1.1';
    const showsReasoning = fault.answer?.kind === 'turn' && fault.answer.turn.reasoning === true;
    const dialect = answeringDialect(protocol, { model: shape.model, showsReasoning, variant: options.chatVariant });
    const gzip = options.fidelity === 'full' && dialect.gzipWhenOffered && offersGzip(request);
    const seed = seedOf(selection);
    const at = selection.key?.since ?? now();
    // Stamps can't be written over compressed bytes, nor over marks that stand in the pieces of a text.
    const fixed = !gzip && fault.encoding === undefined && options.contentBlocks === 0 && !fault.pace?.jitter;
    const key = fixed ? templateKey(numberOf(fault), protocol, shape, keepAlive, chunkedAllowed) : '';
    const known = fixed ? templates.get(key) : undefined;
    if (known !== undefined && known !== 'none') {
      keepRecent(known, selection, protocol, body, request);
      return stamp(known, seed, at);
    }
    const compileWith = compiling(dialect, shape, { fault, keepAlive, chunkedAllowed, gzip, seed });
    if (!fixed || known === 'none') return compileWith(stampsFrom(seed, at));
    const template = templateOf(compileWith) ?? 'none';
    templates.set(key, template);
    return template === 'none' ? compileWith(stampsFrom(seed, at)) : stamp(template, seed, at);
  }

  return {
    material,
    plan,
    error: (kind, message, protocol) => {
      const dialect = DIALECT_OF[protocol];
      const stamps = stampsFrom(`${options.script.seed}/rejected`, now());
      return dialect.error(kind, message, options.retryAfterMs, contextOf(dialect, dialect.readRequest({}), stamps));
    },
  };
}

/** The model, which may be any text, is the last part; what comes before has no line end. */
function templateKey(fault: number, protocol: Protocol, shape: RequestShape, ...how: readonly boolean[]): string {
  const { stream, model, maxTokens, includeUsage, includeObfuscation, forcesTool, echo } = shape;
  const told = Object.keys(echo).length === 0 ? '' : JSON.stringify(echo);
  const flags = [stream, includeUsage, includeObfuscation, forcesTool, ...how].reduce((n, is) => 2 * n + Number(is), 0);
  return `${fault} ${protocol} ${flags} ${maxTokens} ${told}\n${model}`;
}

/** Whether the client takes gzip (RFC 9110, section 12.5.3); a weight of 0 refuses it. */
function offersGzip(request: Asked): boolean {
  return /(^|,)\s*gzip\s*(?!;\s*q=0(\.0*)?\s*(,|$))/i.test(request.headers['accept-encoding'] ?? '');
}
