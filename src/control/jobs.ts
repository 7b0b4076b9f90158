import type { ServerEvent } from '../events.js';
import { replyPlan } from '../fault/reply-plan.js';
import type { WirePlan } from '../fault/wire-plan.js';
import { frame } from '../http/framing.js';
import { errorReply, type Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { after, type Later } from '../later.js';
import type { Job } from '../net/job.js';
import { commandOf, isHealthCheck } from './commands.js';
import { type GuardOptions, guard } from './guard.js';
import { type Handled, handle, refusal } from './handle.js';
import type { ControlTarget } from './target.js';

export interface ControlDeps {
  readonly options: GuardOptions;
  readonly target: ControlTarget;
  emit(event: ServerEvent): void;
}

/** RFC 9112, section 6.1. */
const NO_CHUNKS = errorReply(
  505,
  'http_version',
  'this is answered in chunks, which HTTP/1.0 does not have; use HTTP/1.1',
);

/** From a control request to the job that answers it. */
export function controlJobs({
  options,
  target,
  emit,
}: ControlDeps): (request: Request, client: string | undefined) => Later<Job> {
  return (request, client) => {
    const { method, path, keepAlive, httpVersion } = request;
    const told = (status: number): void => emit({ type: 'control', method, path, status });
    const replied = (reply: Reply, onLast?: () => void): Job => {
      told(reply.status);
      // What answers a HEAD has no body, whatever it says, or the next answer would begin in it.
      const headOnly = method === 'HEAD';
      return { plan: replyPlan(reply, { keepAlive, headOnly }), ...(onLast ? { onLast } : {}) };
    };
    const denied = isHealthCheck(request) ? undefined : guard(request, client, options);
    if (denied) return replied(denied);
    const command = commandOf(request);
    if (!('kind' in command)) return replied(command);
    const inChunks = command.kind === 'metrics' || (command.kind === 'journal' && command.follow);
    if (inChunks && httpVersion === '1.0') return replied(NO_CHUNKS);
    const jobOf = (handled: Handled): Job => {
      switch (handled.kind) {
        case 'reply':
          return replied(
            handled.reply,
            command.kind === 'refuse' && target.noRefusal === undefined ? () => target.refuse(command.ms) : undefined,
          );
        case 'bytes':
          told(200);
          return { plan: bytesPlan(handled.bytes, keepAlive) };
        case 'later':
          told(200);
          return { plan: headPlan('text/plain; version=0.0.4; charset=utf-8'), lines: bodyOf(handled.reply) };
        case 'follow':
          told(200);
          return { plan: headPlan('application/x-ndjson'), lines: handled.lines };
        default:
          return handled satisfies never;
      }
    };
    const handled = handle(command, target);
    return after(handled instanceof Promise ? handled.catch(refusal) : handled, jobOf);
  };
}

async function* bodyOf(reply: Promise<Reply>): AsyncGenerator<string, void, undefined> {
  yield (await reply).body;
}

function bytesPlan(body: Buffer, keepAlive: boolean): WirePlan {
  const head = {
    status: 200,
    headers: [['Content-Type', 'application/octet-stream']],
    framing: 'content_length',
    keepAlive,
  } as const;
  const answer = frame(head, [{ bytes: body, marks: [] }]);
  return {
    ...answer,
    closes: false,
    unapplied: [],
    steps: [
      { op: 'write', start: 0, end: answer.bytes.length },
      { op: 'teardown', kind: 'keep_alive' },
    ],
  };
}

/** A head that lines follow as chunks. */
function headPlan(contentType: string): WirePlan {
  const head = { status: 200, headers: [['Content-Type', contentType]], framing: 'chunked', keepAlive: false } as const;
  const answer = frame(head, []);
  const end = answer.marks.find(({ kind }) => kind === 'headers')?.end ?? 0;
  return {
    ...answer,
    closes: false,
    unapplied: [],
    steps: [
      { op: 'write', start: 0, end },
      { op: 'teardown', kind: 'stall' },
    ],
  };
}
