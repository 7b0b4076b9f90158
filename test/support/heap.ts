import v8 from 'node:v8';
import vm from 'node:vm';

let collect: (() => void) | undefined;

/** Bytes of the heap, and of buffers beside it, that are in use once the garbage is collected. */
export function usedBytes(): number {
  if (!collect) {
    v8.setFlagsFromString('--expose-gc');
    collect = vm.runInNewContext('gc') as () => void;
  }
  // What the first run finds to finalize goes in the second.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
