import { writeSync } from 'node:fs';
import { startFaultServer } from '../../src/index.js';
import { post, witness } from './witness.js';

/**
 * A program that uses the library with a journal, and ends in one way or another while exchanges are going on. Its task
 * comes as JSON in the first argument; what it has to say goes to the standard output, as lines of JSON.
 */
export interface JournalTask {
  readonly journal: string;
  readonly journalMaxBytes?: number;
  /** It ends once so many ledgers are settled. */
  readonly exchanges: number;
  /** `on` goes on, to be killed. */
  readonly end: 'exit' | 'throw' | 'close' | 'on';
}

export type JournalNote =
  | { readonly type: 'journal_failed'; readonly lostLines: number; readonly reason: string }
  /** The exchanges are through. */
  | { readonly type: 'reached' }
  /** The very last word: how many ledgers there were, and how many answers came whole. */
  | { readonly type: 'ledgers'; readonly count: number; readonly answers: number };

const task: JournalTask = JSON.parse(process.argv[2] ?? '{}');

function tell(note: JournalNote): void {
  writeSync(1, `${JSON.stringify(note)}\n`);
}

let settled = 0;
let answers = 0;

const server = await startFaultServer({
  sequence: ['rate_limit', 'success'],
  repeatLast: true,
  journal: task.journal,
  journalMaxBytes: task.journalMaxBytes,
  onEvent: (event) => {
    if (event.type === 'journal_failed') tell(event);
  },
});

process.on('exit', () => tell({ type: 'ledgers', count: server.ledgers.length, answers }));

async function client(): Promise<void> {
  const socket = witness(server.port);
  for (let received = 0; settled < task.exchanges || task.end === 'on'; ) {
    socket.send(post('/v1/chat/completions', {}));
    received = (await socket.until((bytes) => bytes.subarray(received).includes('\r\n\r\n'))).length;
    answers++;
  }
  socket.close();
}

async function count(): Promise<void> {
  for await (const _ of server.followLedgers()) {
    settled++;
    if (settled !== task.exchanges) continue;
    tell({ type: 'reached' });
    // In the very turn in which a ledger is settled, with others under way.
    if (task.end === 'exit') process.exit(0);
    if (task.end === 'throw') throw new Error('on purpose');
  }
}

const counting = count();
await Promise.all([client(), client(), client()]);
if (task.end === 'close') {
  await server.close();
  await counting;
}
