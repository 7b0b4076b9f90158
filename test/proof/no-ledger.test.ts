import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startFaultServer } from '../../src/index.js';
import { serve } from '../support/server.js';
import { post, witnessed } from '../support/witness.js';

const REQUEST = post('/v1/chat/completions', { stream: true }, { Connection: 'close' });

it('a ledger that was dropped is refused, and says what keeps more', async () => {
  const server = await serve({ ledgerHistory: 1 });
  for (let n = 0; n < 2; n++) await witnessed(server.port, REQUEST);
  await server.idle();
  await expect(server.ledger(1)).rejects.toThrow(
    'exchange 1 has no ledger: only the newest 1 are kept (ledgerHistory)',
  );
  expect((await server.ledger(2)).exchange).toBe(2);
});

it('without a history and a journal there are no ledgers', async () => {
  const server = await serve({ ledgerHistory: 0 });
  await expect(server.ledger(1)).rejects.toMatchObject({ code: 'no_ledger' });
});

it('who waits for a ledger is told when the server is closed', async () => {
  const server = await serve();
  const waiting = expect(server.ledger(1)).rejects.toThrow('exchange 1 has no ledger: the server was closed before it');
  await server.close();
  await waiting;
  await expect(server.ledger(7)).rejects.toMatchObject({ code: 'no_ledger' });
});

it('two servers of a process do not write one journal; when the first is closed the second may', async () => {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'wirefault-twice-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const journal = path.join(dir, 'journal.jsonl');
  const first = await serve({ journal });
  await expect(startFaultServer({ journal })).rejects.toMatchObject({ code: 'journal_failed' });
  await first.close();
  const second = await serve({ journal });
  await second.close();
});

it('a port that is in use leaves the journal to others', async () => {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'wirefault-busy-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const journal = path.join(dir, 'journal.jsonl');
  const { port } = await serve();
  await expect(startFaultServer({ port, journal })).rejects.toMatchObject({ code: 'port_in_use' });
  await serve({ journal });
});

it('keys in a query are redacted in captured requests', async () => {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'wirefault-key-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const server = await serve({ capture: dir });
  await witnessed(server.port, post('/v1/messages?beta=true&key=s3cret&x=1', {}, { Connection: 'close' }));
  await server.idle();
  const captured = await readFile(path.join(dir, '000001.request'), 'latin1');
  expect(captured.split('\r\n')[0]).toBe('POST /v1/messages?beta=true&key=[redacted]&x=1 HTTP/1.1');
});
