import type { TrialClient } from './client.js';
import { CLAUDE_CLIENTS } from './presets/claude.js';
import { CODEX_CLIENTS } from './presets/codex.js';
import { DSH_CLIENTS } from './presets/dsh.js';
import { GEMINI_CLIENTS } from './presets/gemini.js';
import { KIMI_CLIENTS } from './presets/kimi.js';
import { OPENCODE_CLIENTS } from './presets/opencode.js';
import { PI_CLIENTS } from './presets/pi.js';
import { QWEN_CLIENTS } from './presets/qwen.js';
import { SDK_CLIENTS } from './presets/sdk.js';

/** The clients that wirefault knows, in the order of the table. */
export const PRESETS: readonly TrialClient[] = [
  ...SDK_CLIENTS,
  ...CODEX_CLIENTS,
  ...CLAUDE_CLIENTS,
  ...DSH_CLIENTS,
  ...KIMI_CLIENTS,
  ...OPENCODE_CLIENTS,
  ...GEMINI_CLIENTS,
  ...QWEN_CLIENTS,
  ...PI_CLIENTS,
];
