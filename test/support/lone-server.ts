import { type FaultServerOptions, startFaultServer } from '../../src/index.js';

/**
 * A server in a process of its own (`node:child_process` `fork`), so that what it leaves behind can be seen: in what
 * the process still holds, and in that it ends by itself. Its options come as JSON in the first argument.
 */
export type LoneCommand = 'drain' | 'close';

export type LoneMessage =
  | { readonly type: 'listening'; readonly port: number }
  /** No connection is left. */
  | { readonly type: 'drained'; readonly accepted: number; readonly rejected: number; readonly unfinished: number }
  /** The server is closed; sockets and timers that the process still has. */
  | { readonly type: 'closed'; readonly left: readonly string[] };

const options: FaultServerOptions = JSON.parse(process.argv[2] ?? '{}');
let rejected = 0;
const server = await startFaultServer({
  ...options,
  onEvent: ({ type }) => {
    if (type === 'rejected') rejected++;
  },
});

function tell(message: LoneMessage): void {
  process.send?.(message);
}

function held(kind: RegExp): string[] {
  return process.getActiveResourcesInfo().filter((name) => kind.test(name));
}

/** Looks once each turn of the event loop, so that nothing waits for the clock. */
async function drained(): Promise<void> {
  while (held(/^TCPSocketWrap$/).length > 0) await new Promise((resolve) => setImmediate(resolve));
}

process.on('message', async (command: LoneCommand) => {
  switch (command) {
    case 'drain': {
      await drained();
      const unfinished = server.requests.filter(({ outcome }) => outcome === undefined).length;
      tell({ type: 'drained', accepted: server.requests.length, rejected, unfinished });
      break;
    }
    case 'close':
      await server.close();
      await new Promise((resolve) => setImmediate(resolve)); // handles are let go of at the end of a turn
      tell({ type: 'closed', left: held(/^(TCP|Timeout)/) });
      // The rest is up to the process itself: with nothing left it ends.
      process.disconnect();
      break;
    default:
      command satisfies never;
  }
});

tell({ type: 'listening', port: server.port });
