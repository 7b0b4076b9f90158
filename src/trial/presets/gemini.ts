import type { TrialClient } from '../client.js';

/** Google's Gemini CLI stands in the table, so that nobody looks for it in vain. */
export const GEMINI_CLIENTS: readonly TrialClient[] = [
  {
    name: 'gemini',
    protocol: 'openai-chat',
    command: ['gemini', '--skip-trust', '-m', 'gemini-2.5-flash', '-p', '{{prompt}}'],
    output: { kind: 'text' },
    version: ['gemini', '--version'],
    install: 'npm i -g @google/gemini-cli',
    unsupported: "it speaks Google's generateContent alone, which is none of wirefault's three protocols",
  },
];
