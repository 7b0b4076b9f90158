import type { Layer } from './behaviors/row.js';
import type { FaultSpec } from './spec.js';

/** What a fault of one's own is about, by the first layer that it touches. */
export function layerOf(fault: FaultSpec): Layer {
  if (fault.listen) return 'port';
  if (fault.request || fault.idle || (fault.cut && fault.cut.teardown !== 'eof' && fault.cut.teardown !== 'stall'))
    return 'connection';
  if (fault.head || fault.framing || fault.encoding) return 'http';
  if (fault.sse || fault.splice) return 'sse';
  if (fault.events || fault.cut?.teardown === 'eof') return 'protocol';
  if (fault.answer && fault.answer.kind !== 'turn' && fault.answer.kind !== 'events') return 'status';
  return fault.pace || fault.segments || fault.cut ? 'time' : 'answer';
}
