/** What a sandbox is to the shell tool, and what a sandbox of any kind keeps commands to. */
import type { ProcessStart } from '../../process.js';

export type Sandbox = {
  /** For people: `bubblewrap`, `sandbox-exec`. */
  readonly name: string;
  /** Whether commands reach the network. */
  readonly hasNetwork: boolean;
  /** The program as it is to be started. `release` takes away what the start left behind, once the program has ended. */
  enter(start: ProcessStart): Promise<{ readonly start: ProcessStart; readonly release: () => Promise<void> }>;
};

/** Something that must not come into being. `folder`: an empty folder stands there meanwhile; `file`: a file with that text. */
export type Missing =
  | { readonly path: string; readonly kind: 'folder' }
  | { readonly path: string; readonly kind: 'file'; readonly content: string };

/** What commands may do to the disk, as absolute paths. All is read-only that is not named here. */
export type SandboxPolicy = {
  /** The workspace's folders, and what git needs to commit from a worktree. */
  readonly writable: readonly string[];
  /** Folders in whose place there is an empty one that is gone after the command. */
  readonly hidden: readonly string[];
  /** What of `hidden` can be read all the same. */
  readonly readable: readonly string[];
  /** Folders of `writable` that can be neither moved nor replaced: parents of what is protected. */
  readonly anchored: readonly string[];
  /** Files and folders of `writable` that stay as they are. */
  readonly readOnly: readonly string[];
  /** Files that cannot be read, and stay as they are. */
  readonly masked: readonly string[];
  /** Folders of `writable` that are empty inside, and stay so. */
  readonly maskedFolders: readonly string[];
  /** What does not exist in `writable`, and has to stay so. */
  readonly missing: readonly Missing[];
  /** Links in `writable` that stay as they are. */
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** Lists of what git overlooks, one a folder of the workspace: what stands for something missing is no work of anybody's. */
  readonly excludes: readonly { readonly file: string; readonly root: string }[];
  /** Can be read whatever else is said: the user named them. */
  readonly shown: readonly string[];
};

/** No part of any policy: one where nothing is allowed. */
export const EMPTY_POLICY: SandboxPolicy = {
  writable: [],
  hidden: [],
  readable: [],
  anchored: [],
  readOnly: [],
  masked: [],
  maskedFolders: [],
  missing: [],
  links: [],
  excludes: [],
  shown: [],
};

/** Both together. */
export function joined(...parts: readonly Partial<SandboxPolicy>[]): SandboxPolicy {
  const all = <Field extends keyof SandboxPolicy>(field: Field) =>
    parts.flatMap((part) => (part[field] ?? []) as readonly unknown[]) as unknown as SandboxPolicy[Field];
  return {
    writable: all('writable'),
    hidden: all('hidden'),
    readable: all('readable'),
    anchored: all('anchored'),
    readOnly: all('readOnly'),
    masked: all('masked'),
    maskedFolders: all('maskedFolders'),
    missing: all('missing'),
    links: all('links'),
    excludes: all('excludes'),
    shown: all('shown'),
  };
}
