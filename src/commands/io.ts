/** The process as the commands see it, so that nothing below main touches the global one. */
import type { Readable, Writable } from 'node:stream';
import type { ProcessGroups } from '../process.js';

export type Io = {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
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
