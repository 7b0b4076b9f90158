import { valueAt } from '../fault/conditions.js';
import type { TrialClient } from './client.js';

/** What a client showed its user, and the error that it told in a field of its own. */
export interface ReadOutput {
  readonly shown: string;
  readonly structuredError: string | null;
}

type Output = TrialClient['output'];

export function readOutput(stdout: string, output: Output): ReadOutput {
  switch (output.kind) {
    case 'text':
      return { shown: stdout, structuredError: null };
    case 'json':
      return join([parsed(stdout)], output, stdout);
    case 'json_lines':
      return join(
        stdout
          .split('\n')
          .filter((line) => line.trim() !== '')
          .map(parsed),
        output,
        stdout,
      );
    default:
      return output satisfies never;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What can't be read as JSON was shown as it is. */
function join(values: readonly unknown[], output: Exclude<Output, { kind: 'text' }>, stdout: string): ReadOutput {
  if (values.every((value) => value === undefined)) return { shown: stdout, structuredError: null };
  const all = (path: string | undefined): string[] =>
    path === undefined ? [] : values.flatMap((value) => textAt(value, path));
  const whole = output.finish?.whole ?? [];
  // No word at all tells nothing: it is what a program looks at that doesn't know better.
  const finishes = all(output.finish?.at).filter((word) => !whole.includes(word));
  const errors = [...all(output.error), ...finishes.map((word) => `finish ${word}`)];
  return { shown: all(output.text).join(''), structuredError: errors.length > 0 ? errors.join('; ') : null };
}

function textAt(value: unknown, path: string): string[] {
  const found = valueAt(value, path);
  if (found === undefined || found === null || found === '') return [];
  return [typeof found === 'string' ? found : JSON.stringify(found)];
}
