import { replyPlan } from '../fault/reply-plan.js';
import { errorReply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Later } from '../later.js';
import type { ClientAddress, Handler, Job } from '../net/job.js';
import { CONTROL_PATHS, isControlPath } from './commands.js';

/** The handler of a port that has nothing but the control plane. */
export function controlHandler(
  control: (request: Request, clientAddress: string | undefined) => Later<Job>,
  client: ClientAddress,
): Handler {
  return {
    early: () => undefined,
    head: () => 'read',
    request: (request) => {
      if (isControlPath(request.path)) return control(request, client.remoteAddress);
      const reason = `${request.path}: this is the control port, which answers nothing else`;
      const reply = errorReply(404, 'unknown_path', reason, { known: CONTROL_PATHS });
      return { plan: replyPlan(reply, { keepAlive: request.keepAlive, headOnly: request.method === 'HEAD' }) };
    },
  };
}
