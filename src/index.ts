/** The public library. */
export { WirefaultError, type WirefaultErrorCode } from './errors.js';
export type { Outcome, RequestRecord, ServerEvent } from './events.js';
export {
  BEHAVIOR_NAMES,
  type BehaviorName,
  CONCRETE_BEHAVIOR_NAMES,
  type ConcreteBehaviorName,
  DEFAULT_RANDOM_WEIGHTS,
  type RandomWeights,
} from './fault/catalogue.js';
export { blocksIn, type FoundBlock, withoutBlocks } from './fault/content-blocks.js';
export type { CutWord, ScriptWord } from './fault/word.js';
export type { FaultServer, FaultServerOptions } from './fault-server.js';
export { MAX_TIMER_MS } from './option-rows.js';
export { type FaultProxy, type FaultProxyOptions, startFaultProxy } from './proxy/proxy.js';
export type { OnUpstreamError, UpstreamOptions } from './proxy/upstream-options.js';
export { startFaultServer } from './server.js';
export type { Finding } from './trial/findings.js';
