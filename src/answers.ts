import { LRUCache } from 'lru-cache';
import { type ConcreteBehaviorName, faultOf } from './fault/catalogue.js';
import { compile, type WirePlan } from './fault/plan.js';
import { drawSeed } from './fault/random.js';
import type { Selection } from './fault/script.js';
import { type PlanTemplate, stamp, templateOf } from './fault/template.js';
import type { Request } from './http/request.js';
import type { ResolvedOptions } from './options.js';
import type { AnswerContext, JsonObject, Protocol } from './sse/dialect.js';
import { answeringDialect, DIALECT_OF } from './sse/dialects.js';
import { stampsFrom } from './sse/stamps.js';

/** From a selection to the plan that answers it: compiled once for each kind of request, stamped for each one. */
export interface Answers {
  plan(selection: Selection & { kind: 'behavior' }, protocol: Protocol, body: JsonObject, request: Request): WirePlan;
  /** The provider's own error for a request that never reached the script. */
  error(
    kind: 'auth_error' | 'invalid_request',
    message: string,
    protocol: Protocol,
  ): { status: number; headers: readonly (readonly [string, string])[]; body: string };
}

/** Templates kept; a run uses a few for each behavior, and a client that varies its model or limits can't fill memory. */
const MAX_TEMPLATES = 512;

export function answersOf(options: ResolvedOptions): Answers {
  const templates = new LRUCache<string, PlanTemplate>({ max: MAX_TEMPLATES });
  const contextOf = (request: AnswerContext['request'], stamps: AnswerContext['stamps']): AnswerContext => ({
    request,
    stamps,
    fidelity: options.fidelity,
    keyOrder: options.keyOrder,
    chunkSize: options.chunkSize,
    requestId: options.requestId,
  });

  function templateFor(
    behavior: ConcreteBehaviorName,
    protocol: Protocol,
    body: JsonObject,
    request: Request,
  ): PlanTemplate {
    const fault = faultOf(behavior);
    const shape = DIALECT_OF[protocol].readRequest(body);
    const chunkedAllowed = request.httpVersion === '1.1';
    const key = JSON.stringify([behavior, protocol, shape, request.keepAlive, chunkedAllowed]);
    const known = templates.get(key);
    if (known) return known;
    const showsReasoning = fault.answer.kind === 'turn' && fault.answer.turn.reasoning === true;
    const dialect = answeringDialect(protocol, shape.model, showsReasoning);
    const { keepAlive } = request;
    const template = templateOf((stamps) =>
      compile({ fault, dialect, context: contextOf(shape, stamps), content: options, keepAlive, chunkedAllowed }),
    );
    templates.set(key, template);
    return template;
  }

  return {
    plan: (selection, protocol, body, request) => {
      const template = templateFor(selection.behavior, protocol, body, request);
      return stamp(template, drawSeed(options.script.seed, selection.lane, selection.attempt), new Date());
    },
    error: (kind, message, protocol) => {
      const dialect = DIALECT_OF[protocol];
      const stamps = stampsFrom(`${options.script.seed}/rejected`, new Date());
      return dialect.error(kind, message, options.retryAfterMs, contextOf(dialect.readRequest({}), stamps));
    },
  };
}
