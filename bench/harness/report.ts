/**
 * Preloaded into every server process, the built CLI's too: tells the parent what the process has used so far.
 * The numbers are the process's own, so what other processes do on the machine isn't in them.
 */
export interface Usage {
  /** User and system time of all threads. */
  readonly cpuMicros: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  /** Memory of buffers, which lies outside the heap. */
  readonly bufferBytes: number;
}

/** Twice: what the first run finalizes, the second one frees. Absent without --expose-gc. */
function collect(): void {
  globalThis.gc?.();
  globalThis.gc?.();
}

// A worker of a server of several processes can't be asked: its channel is its primary's.
process.on('SIGUSR2', collect);

process.on('message', (command) => {
  if (command !== 'usage') return;
  collect();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
  const memory = { residentBytes: rss, heapBytes: heapUsed, bufferBytes: arrayBuffers };
  process.send?.({ cpuMicros: user + system, ...memory } satisfies Usage);
});

// The parent is gone, or wants the process to end in an orderly way (a CPU profile is written at the exit).
process.on('disconnect', () => {
  // A server that has something to end first ends by itself.
  if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM');
  else process.exit(0);
});
