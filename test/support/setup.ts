import fc from 'fast-check';

/** Random inputs are the same in each run; FC_SEED draws others. */
fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 42) });
