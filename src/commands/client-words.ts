import { existsSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { suggestion, unknownWord, WirefaultError } from '../errors.js';
import { PROTOCOLS, type Protocol } from '../sse/dialect.js';
import type { TrialClient } from '../trial/client.js';
import { PRESETS } from '../trial/presets.js';

/** A client as the command line names it, behind `--`. */
export interface NamedClient extends Omit<TrialClient, 'protocol'> {
  /** `undefined`: a command, of which nobody has said what it speaks. */
  readonly protocol: Protocol | undefined;
}

/** @throws WirefaultError `bad_option` */
export function protocolOf(word: string | undefined): Protocol | undefined {
  const protocol = PROTOCOLS.find((known) => known === word);
  if (word === undefined || protocol) return protocol;
  throw new WirefaultError('bad_option', `--protocol: ${unknownWord('protocol', word, PROTOCOLS)}`);
}

/**
 * A known client by its name, or a command of the user's own.
 * @throws WirefaultError `bad_option`
 */
export function clientOf(words: readonly string[], protocol: Protocol | undefined): NamedClient {
  const [word = '', ...more] = words;
  if (more.length === 0) {
    const preset = PRESETS.find(({ name }) => name === word);
    if (preset) return { ...preset, protocol: protocol ?? preset.protocol };
    const names = PRESETS.map(({ name }) => name);
    if (suggestion(word, names) !== undefined) {
      throw new WirefaultError('bad_option', unknownWord('client', word, names));
    }
  }
  // It runs in a home of its own, from where a path of here leads nowhere.
  const command = words.map((one) => (isFile(one) ? resolve(one) : one));
  const [path = word] = command.filter((_, n) => n > 0 && isFile(words[n] ?? ''));
  return {
    name: nameOf(path),
    protocol,
    command,
    env: {
      OPENAI_BASE_URL: '{{baseURL}}/v1',
      OPENAI_API_KEY: '{{key}}',
      ANTHROPIC_BASE_URL: '{{baseURL}}',
      ANTHROPIC_API_KEY: '{{key}}',
    },
    output: { kind: 'text' },
  };
}

/** The name of a file as that of a client. */
export function nameOf(path: string): string {
  return basename(path)
    .replace(/[^A-Za-z0-9._-]/g, '_')
    .slice(0, 64);
}

export function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}
