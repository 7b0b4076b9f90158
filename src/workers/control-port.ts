import type { Socket } from 'node:net';
import { controlHandler } from '../control/port.js';
import type { ServerEvent } from '../events.js';
import { knownHeads } from '../http/known-heads.js';
import type { Request } from '../http/request.js';
import type { Later } from '../later.js';
import { serveConnection } from '../net/connection.js';
import type { ConnectionDeps } from '../net/connection-deps.js';
import type { Job } from '../net/job.js';
import { bracketed, listen } from '../net/listener.js';
import type { ResolvedOptions } from '../options.js';
import { kernelOf } from '../proof/kernel.js';
import { recordConnection } from '../proof/recorder.js';
import { rounds } from '../proof/rounds.js';
import { settler } from '../proof/settle.js';
import { openConnections } from '../server-connections.js';

/** The control plane of several workers, on a port that is the primary's own. */
export interface ControlPort {
  readonly url: string;
  close(): Promise<void>;
}

export async function openControlPort(
  options: ResolvedOptions,
  control: (request: Request, client: string | undefined) => Later<Job>,
  emit: (event: ServerEvent) => void,
): Promise<ControlPort> {
  const { host, controlPort: port = 0, requestTimeoutMs, timeScale } = options;
  const kernel = await kernelOf('callbacks');
  if (!kernel) throw new Error('callbacks are to be had everywhere');
  const askers = { settler: settler(), rounds: rounds() };
  const open = openConnections(0);
  const serving: ConnectionDeps = {
    limits: options,
    heads: knownHeads(false),
    requestTimeoutMs,
    timeScale,
    gate: (_, resume) => {
      resume();
      return () => {};
    },
    onIdle: () => {},
    onBad: (bad) => emit({ type: 'rejected', ...bad }),
    onClose: open.remove,
  };
  const onConnection = (socket: Socket): void => {
    const recorder = recordConnection(socket, kernel, askers);
    const handler = controlHandler(control, socket);
    open.add(serveConnection(socket, serving, { number: open.number(), recorder, handler }));
  };
  const listener = await listen(
    { host, port, refuseFirstMs: 0 },
    {
      onConnection,
      onBound: () => {},
      onWindow: () => {},
      onListening: () => {},
      onLost: (error) => emit({ type: 'listen_failed', reason: error.message }),
    },
  );
  return {
    url: `http://${bracketed(host)}:${listener.port}`,
    close: async () => {
      await listener.close();
      await open.destroyAll();
    },
  };
}
