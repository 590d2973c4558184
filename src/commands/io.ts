/** The process as the commands see it, so that nothing below main touches the global one. */
import { isAbsolute, resolve, sep } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { UsageError } from '../errors.js';
import type { ProcessGroups } from '../process.js';

export type Io = {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Undefined when it is not there any more. */
  readonly cwd: string | undefined;
  readonly now: () => number;
  /** Aborts with an `InterruptedError` on a signal or when the reader of stdout is gone. */
  readonly signal: AbortSignal;
  /** Child process groups that must not outlive us. */
  readonly groups: ProcessGroups;
};

/** Whether a person can be asked: stdin and stderr are terminals. */
export function hasTerminal(io: Pick<Io, 'stdin' | 'stderr'>): boolean {
  return io.stdin.isTTY === true && io.stderr.isTTY === true;
}

/**
 * A path, from the current folder if it is relative; that folder itself if there is none.
 * @throws {UsageError} when there is nothing to start from.
 */
export function pathFrom(cwd: string | undefined, path = '.'): string {
  if (cwd !== undefined || isAbsolute(path)) return resolve(cwd ?? sep, path);
  const hint = 'Change to another one, or name one: -C FOLDER.';
  throw new UsageError('The current folder does not exist any more.', { hint });
}
