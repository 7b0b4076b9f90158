import { type EvidenceSource, flushedOf, type Kernel } from './counters.js';
import { koffiKernel } from './kernel-koffi.js';
import { procfsKernel } from './kernel-procfs.js';

/** The best source of evidence that this machine has. */

/** Without the kernel's help: what Node's own counters say. */
export const callbacksKernel: Kernel = {
  source: 'callbacks',
  probe: (socket) => ({
    look: () => {
      const flushed = flushedOf(socket);
      return flushed === undefined ? undefined : { flushed, acked: null, read: null };
    },
  }),
};

/** The best source here, or the one that is asked for; `undefined` where that one isn't to be had. */
export async function kernelOf(wanted: EvidenceSource | 'auto'): Promise<Kernel | undefined> {
  if (wanted === 'callbacks') return callbacksKernel;
  const makers = { koffi: koffiKernel, so_nwrite: koffiKernel, procfs: procfsKernel };
  if (wanted !== 'auto') {
    const kernel = await makers[wanted]();
    return kernel?.source === wanted ? kernel : undefined;
  }
  return (await koffiKernel()) ?? (await procfsKernel()) ?? callbacksKernel;
}
