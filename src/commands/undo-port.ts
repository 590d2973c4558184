/** Opens the undo store of a project for a run, or for `chatcli undo`. */
import { createHash } from 'node:crypto';
import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Folders } from '../config/folders.js';
import { destroysWork } from '../permissions/always-ask.js';
import { isProtectedPath } from '../permissions/protected-paths.js';
import { isSecretFile } from '../permissions/secret-files.js';
import { createUndoRecorder, type UndoRecorder } from '../session/snapshot.js';
import { type IgnoreRules, readIgnoreRules } from '../tools/ignore-rules.js';

export type UndoPlace = {
  readonly folders: Folders;
  /** Real paths of the workspace's folders, the main one first. */
  readonly roots: readonly string[];
  readonly now: () => number;
  readonly mask: (text: string) => string;
  readonly warn: (text: string) => void;
  readonly signal: AbortSignal;
};

/** Nothing is read or written before something is about to change. */
export function openUndo({ folders, roots, now, mask, warn, signal }: UndoPlace): UndoRecorder {
  const rules = new Map<string, Promise<IgnoreRules>>();
  const rulesOf = (root: string) => {
    const found = rules.get(root) ?? readIgnoreRules(root, root);
    rules.set(root, found);
    return found;
  };
  return createUndoRecorder({
    folder: undoFolder(folders.state, roots[0] ?? ''),
    roots,
    ports: {
      excluded: ownFolders(folders),
      isSecret: (path) => !roots.includes(path) && isSecretFile(path),
      // The sandbox puts them there, perhaps that of another run.
      isStandIn: (name) => name === 'HEAD' || isProtectedPath(name),
      isIgnored: async (folder) => {
        const root = roots.find((each) => folder.startsWith(each)) ?? folder;
        // Ignore files may change from one command to the next, which makes no odds to what is built.
        return rulesOf(root).then(
          (found) => found.ignores(folder, true),
          () => false,
        );
      },
      now,
      isDestructive: (command) => destroysWork(command),
      mask,
      warn,
      signal,
    },
  });
}

/** One a project: that of the repository, else of the folder itself. */
export function undoFolder(stateFolder: string, root: string): string {
  const name = createHash('sha256').update(repositoryRoot(root)).digest('hex').slice(0, 16);
  return join(stateFolder, 'projects', name, 'undo');
}

function repositoryRoot(root: string): string {
  for (let folder = root; ; folder = dirname(folder)) {
    if (lstatSync(join(folder, '.git'), { throwIfNoEntry: false }) !== undefined) return folder;
    if (dirname(folder) === folder) return root;
  }
}

/** Ours are no part of anybody's work, and copying them would have no end. */
function ownFolders({ config, data, state, cache }: Folders): string[] {
  return [config, data, state, cache].flatMap((folder) => {
    try {
      return [folder, realpathSync(folder)];
    } catch {
      return [folder];
    }
  });
}
