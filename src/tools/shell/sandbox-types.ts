/** What the shell tool needs of a sandbox: the same program, but inside. */
import type { ProcessStart } from '../../process.js';

export type Sandbox = {
  /** For people: `bubblewrap`, `sandbox-exec`. */
  readonly name: string;
  /** Whether commands reach the network. */
  readonly hasNetwork: boolean;
  /** The program as it is to be started. `release` takes away what the start left behind, once the program has ended. */
  enter(start: ProcessStart): Promise<{ readonly start: ProcessStart; readonly release: () => Promise<void> }>;
};
