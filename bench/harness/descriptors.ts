import { readFileSync } from 'node:fs';

/** Descriptors that the processes need for themselves. */
const SPARE_DESCRIPTORS = 200;

/** Node raises its soft limit to the hard one at its start, so the hard one counts. */
export function connectionsAllowed(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const hard = Number(/^Max open files +\d+ +(\d+)/m.exec(limits)?.[1] ?? 4096);
  return hard - SPARE_DESCRIPTORS;
}

const SETTLE_MS = 300;

/** What follows a burst of connects or closes is over. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
}

/** Resident memory of a process, without asking it. */
export function residentBytes(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  return pages * PAGE_BYTES;
}

const PAGE_BYTES = 4096;

/** A process and all that came of it. */
export function treeOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [pid, ...(children === '' ? [] : children.split(' ').flatMap((child) => treeOf(Number(child))))];
}

/** SIGUSR2 in the masks of /proc, whose lowest bit is signal 1. */
const SIGUSR2_BIT = 1n << 11n;

/** Resolves when a process has a handler for SIGUSR2, which would end it before that. */
export async function collectable(pid: number): Promise<void> {
  for (;;) {
    const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
    if ((BigInt(`0x${caught}`) & SIGUSR2_BIT) !== 0n) return;
    await settled();
  }
}
