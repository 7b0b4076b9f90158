/** What has to be ended with this process, whatever ends it but SIGKILL: clients run in groups of their own. */
const jobs = new Set<() => void>();

/** Runs `job`, which can't wait for anything, when the process exits; returns what takes it back. */
export function atExit(job: () => void): () => void {
  if (jobs.size === 0) process.once('exit', runAll);
  jobs.add(job);
  return () => {
    jobs.delete(job);
    if (jobs.size === 0) process.removeListener('exit', runAll);
  };
}

function runAll(): void {
  for (const job of jobs) job();
}
