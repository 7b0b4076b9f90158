import fc from 'fast-check';
import { poisonWhatIsLetGo } from '../../src/slabs.js';

/** Random inputs are the same in each run; FC_SEED draws others. */
fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 42) });

/** Whoever looks at bytes of an answer whose memory was given back gets something else. */
poisonWhatIsLetGo();
