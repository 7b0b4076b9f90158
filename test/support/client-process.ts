import net from 'node:net';

/**
 * One client in a process of its own, to be killed. It sends what it is told to, reads in its way, and tells its
 * parent what it has sent and got. The task comes as JSON in the first argument.
 */
export interface ClientTask {
  readonly port: number;
  readonly host: string;
  readonly request: string;
  /** `nothing` leaves everything in its kernel. */
  readonly reads: 'all' | 'nothing';
}

export type ClientMessage =
  | { readonly type: 'sent' }
  | { readonly type: 'received'; readonly bytes: number }
  /** With everything that it got, as latin1. */
  | { readonly type: 'ended'; readonly end: 'fin' | 'rst'; readonly bytes: number; readonly text: string };

const task: ClientTask = JSON.parse(process.argv[2] ?? '{}');
const socket = new net.Socket();
if (task.reads === 'nothing') socket.pause();
const received: Buffer[] = [];

function tell(message: ClientMessage): void {
  process.send?.(message);
}

function ended(end: 'fin' | 'rst'): void {
  tell({ type: 'ended', end, bytes: socket.bytesRead, text: Buffer.concat(received).toString('latin1') });
}

socket.on('error', () => ended('rst'));
socket.on('end', () => ended('fin'));
if (task.reads === 'all') {
  socket.on('data', (bytes) => {
    received.push(bytes);
    tell({ type: 'received', bytes: socket.bytesRead });
  });
}
socket.connect({ port: task.port, host: task.host, noDelay: true }, () => {
  socket.write(task.request, () => tell({ type: 'sent' }));
});
process.on('disconnect', () => process.exit());
