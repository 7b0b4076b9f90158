import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { cellTaskSchema, runCell } from './cell.js';
import { dnsLogger } from './dns-logger.js';

/**
 * One cell inside of its namespaces, as the first process there: it sets them up, runs the cell, and writes what the
 * run left behind. Its arguments are the files of the task and of the evidence.
 */
const [, , asked = '', told = ''] = process.argv;
const task = cellTaskSchema.parse(JSON.parse(readFileSync(asked, 'utf8')));

execFileSync('ip', ['link', 'set', 'lo', 'up']);
// The machine's own resolver is out of reach, and a client that waits for it would look as if it hung.
const resolver = `${told}.resolv.conf`;
writeFileSync(resolver, 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n');
execFileSync('mount', ['--bind', resolver, '/etc/resolv.conf']);
const dns = await dnsLogger();

const evidence = await runCell(task);
// Renamed into its place, so that half of it is never read.
writeFileSync(`${told}.new`, JSON.stringify({ ...evidence, foreign: dns.names }));
renameSync(`${told}.new`, told);
// As the first process of its namespace it takes all others with it.
process.exit(0);
