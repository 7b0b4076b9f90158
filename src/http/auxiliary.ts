import { DEFAULT_MODEL } from '../sse/dialect.js';
import { VERSION } from '../version.js';
import { jsonReply, type Reply } from './reply.js';
import type { Request } from './request.js';

/** What clients ask beside the answers: which models there are, how long a prompt is, whether anybody is there. */
export type AuxiliaryKind = 'models' | 'model' | 'count_tokens' | 'health' | 'root';

export interface Auxiliary {
  readonly kind: AuxiliaryKind;
  /** The model that a path names; any name is a model here. */
  readonly id: string;
}

const MODELS = [DEFAULT_MODEL, 'gpt-5.4', 'claude-haiku-4-5', 'deepseek-chat'];

/** 2026-01-01; real lists never change their dates either. */
const CREATED_SECONDS = 1_767_225_600;
const CREATED = '2026-01-01T00:00:00Z';

/** Providers count by a tokenizer; four bytes to a token is their own rule of thumb. */
const BYTES_PER_TOKEN = 4;

export function auxiliaryReply(asked: Auxiliary, request: Request, endpoints: readonly string[]): Reply {
  const anthropic = request.headers['anthropic-version'] !== undefined;
  const model: (id: string) => object = anthropic ? anthropicModel : openaiModel;
  switch (asked.kind) {
    case 'models': {
      const data = MODELS.map(model);
      const list = anthropic
        ? { data, has_more: false, first_id: MODELS[0], last_id: MODELS.at(-1) }
        : { object: 'list', data };
      return jsonReply(200, list);
    }
    case 'model':
      return jsonReply(200, model(decoded(asked.id)));
    case 'count_tokens':
      return jsonReply(200, { input_tokens: Math.max(1, Math.ceil(request.body.length / BYTES_PER_TOKEN)) });
    case 'health':
      return jsonReply(200, { status: 'ok' });
    case 'root':
      return jsonReply(200, { name: 'wirefault', version: VERSION, endpoints });
    default:
      return asked.kind satisfies never;
  }
}

function openaiModel(id: string) {
  return { id, object: 'model', created: CREATED_SECONDS, owned_by: 'wirefault' };
}

function anthropicModel(id: string) {
  return { type: 'model', id, display_name: id, created_at: CREATED };
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
