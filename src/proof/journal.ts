import { closeSync, openSync, writeSync } from 'node:fs';
import { access, type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { dirname, resolve as resolvePath } from 'node:path';
import { messageOf, WirefaultError } from '../errors.js';
import { Lines, wholeLines } from './lines.js';

/**
 * Lines added to the end of a file. Writing never holds up the wire: lines wait in memory while one write is under way.
 * Writes name their position, so what is under way or waiting when the process ends is written once more, whole, to
 * the same place. A disk that is full costs lines, which are counted and told, and nothing else.
 */
export interface Journal {
  /** `line` may be written over once this returns. */
  append(line: Buffer): void;
  /** Resolves when all that waits is written or lost. */
  flush(): Promise<void>;
  /** Flushes, closes the file, and tells how many lines were lost where any were. */
  close(): Promise<void>;
}

export interface JournalOptions {
  readonly path: string;
  /** Above 0: a file that has grown beyond is renamed to `path.1`, `path.2` and so on, and a new one begun. */
  readonly maxBytes: number;
  /** Called when lines begin to be lost, and once at the end with the number of all that were. */
  onLost(reason: string, lostLines: number): void;
}

/** Lines that may wait while a disk is slow: some 50 MB of ledgers. Beyond that they are lost, and counted. */
const MAX_WAITING_LINES = 25_000;

/** Files that are open here: positions of two writers would fall on each other. */
const OPEN = new Set<string>();

/** @throws WirefaultError `journal_failed` where the file can't be opened, or is open already in this process */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { path, maxBytes, onLost } = options;
  const absolute = resolvePath(path);
  if (OPEN.has(absolute)) {
    throw new WirefaultError('journal_failed', `journal: ${path} is written by another server of this process already`);
  }
  let file = await openFile(path);
  OPEN.add(absolute);
  let position = (await file.stat()).size;
  let waiting = new Lines();
  let underWay = new Lines();
  let pumping: Promise<void> | undefined;
  let lostLines = 0;
  let reason = '';

  function lose(count: number, why: string): void {
    const first = lostLines === 0;
    lostLines += count;
    reason = why;
    if (first) onLost(reason, lostLines);
  }

  async function pump(): Promise<void> {
    // Ledgers are made many at once: they are one write.
    await Promise.resolve();
    while (waiting.count > 0) {
      [waiting, underWay] = [underWay, waiting];
      await writeAll(underWay.bytes(), underWay.count);
      await rotate();
    }
    pumping = undefined;
  }

  /** The position moves on when all is written. Of what can't be, the lines that fit are kept. */
  async function writeAll(bytes: Buffer, lines: number): Promise<void> {
    let done = 0;
    try {
      while (done < bytes.length) {
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
        done += bytesWritten;
      }
      position += done;
      underWay.clear();
    } catch (thrown) {
      const whole = wholeLines(bytes.subarray(0, done));
      lose(lines - whole.count, `${path}: ${messageOf(thrown)}`);
      position += whole.bytes;
      underWay.clear();
      // The rest would stand, torn, behind a shorter batch that fits.
      await file.truncate(position).catch(() => {});
    }
  }

  /** At every moment there is an open file to write to. One that can't be renamed or followed grows on. */
  async function rotate(): Promise<void> {
    if (maxBytes <= 0 || position < maxBytes) return;
    try {
      await rename(path, await freeName(path));
      const full = file;
      file = await openFile(path);
      position = 0;
      await full.close();
    } catch {
      // No line is lost by it.
    }
  }

  const onExit = (): void => {
    const left = Buffer.concat([underWay.bytes(), waiting.bytes()]);
    try {
      if (left.length > 0) writeSync(file.fd, left, 0, left.length, position);
      // The end may come between a full file's renaming and the next one's making.
      closeSync(openSync(path, 'a'));
    } catch {
      // Nobody is left to be told.
    }
  };
  process.on('exit', onExit);

  const flush = async (): Promise<void> => {
    while (pumping) await pumping;
  };
  return {
    append: (line) => {
      if (waiting.count >= MAX_WAITING_LINES) {
        lose(1, `${path}: the disk is slower than the journal`);
        return;
      }
      waiting.add(line);
      pumping ??= pump();
    },
    flush,
    close: async () => {
      await flush();
      process.off('exit', onExit);
      OPEN.delete(absolute);
      await file.close().catch(() => {});
      if (lostLines > 0) onLost(reason, lostLines);
    },
  };
}

/** For writing at any position, made where it isn't there. */
async function openFile(path: string): Promise<FileHandle> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await (await open(path, 'a')).close();
    return await open(path, 'r+');
  } catch (thrown) {
    throw new WirefaultError('journal_failed', `journal: can't write ${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
}

async function freeName(path: string): Promise<string> {
  for (let n = 1; ; n++) {
    const name = `${path}.${n}`;
    const taken = await access(name).then(
      () => true,
      () => false,
    );
    if (!taken) return name;
  }
}

/** One journal that is several. */
export function journals(all: readonly Journal[]): Journal | undefined {
  if (all.length <= 1) return all[0];
  return {
    append: (line) => {
      for (const journal of all) journal.append(line);
    },
    flush: async () => {
      await Promise.all(all.map((journal) => journal.flush()));
    },
    close: async () => {
      await Promise.all(all.map((journal) => journal.close()));
    },
  };
}
