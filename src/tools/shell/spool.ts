/** A file for output that is too long to hand over: private, of bounded size, and no reason for a command to fail. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../errors.js';
import { cutEnd } from '../truncate.js';

const SPOOL_LIMIT_BYTES = 50_000_000;

export type SpoolEnd = {
  /** Undefined when no file could be made. */
  readonly path: string | undefined;
  readonly bytes: number;
  /** Why the file does not hold all of the output. */
  readonly problem: string | undefined;
};

export type Spool = {
  /** Undefined once the file takes nothing more: there is nothing to wait for. */
  write(text: string): Promise<void> | undefined;
  soFar(): SpoolEnd;
  finish(): Promise<SpoolEnd>;
};

export function createSpool(directory: () => Promise<string>, limitBytes = SPOOL_LIMIT_BYTES): Spool {
  let file: Promise<FileHandle> | undefined;
  let path: string | undefined;
  let bytes = 0;
  let problem: string | undefined;
  // One write after the other, whatever the caller does.
  let last: Promise<void> = Promise.resolve();

  const openFile = async (): Promise<FileHandle> => {
    const name = join(await directory(), `shell-${randomUUID().slice(0, 8)}.txt`);
    const handle = await open(name, 'wx', 0o600);
    path = name;
    return handle;
  };

  const append = async (text: string): Promise<void> => {
    if (problem !== undefined) return;
    const fitting = cutEnd(text, limitBytes - bytes);
    try {
      file ??= openFile();
      await (await file).appendFile(fitting);
      bytes += Buffer.byteLength(fitting);
      if (fitting.length < text.length) problem = `it holds the first ${limitBytes / 1e6} MB only`;
    } catch (cause) {
      // A full disk, most often. The command goes on; its start and end are in memory.
      problem = `the rest could not be written: ${messageOf(cause)}`;
    }
  };

  return {
    write: (text) => {
      if (problem !== undefined) return undefined;
      last = last.then(() => append(text));
      return last;
    },
    soFar: () => ({ path, bytes, problem }),
    finish: async () => {
      await last;
      await file?.then((handle) => handle.close()).catch(() => undefined);
      return { path, bytes, problem };
    },
  };
}
