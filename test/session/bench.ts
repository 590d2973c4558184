/** A workspace in a temp folder with a recorder of changes around it, and the way back. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBlobStore } from '../../src/session/blob-store.js';
import { type RestoreResult, restoreTurn } from '../../src/session/restore.js';
import { type StoreFolders, storeFolders } from '../../src/session/retention.js';
import { createUndoRecorder, type UndoOptions, type UndoRecorder } from '../../src/session/snapshot.js';
import { readTurns } from '../../src/session/turn-log.js';
import type { Turn } from '../../src/session/undo-types.js';
import { createWorkspace, type Workspace } from '../../src/tools/workspace.js';
import { tempFolder } from '../tools/bench.js';

export type UndoBench = {
  readonly root: string;
  readonly store: StoreFolders;
  readonly recorder: UndoRecorder;
  readonly workspace: Workspace;
  readonly warnings: string[];
  readonly path: (name: string) => string;
  readonly put: (name: string, content: string | Uint8Array) => Promise<void>;
  readonly text: (name: string) => Promise<string>;
  /** As a tool writes it. */
  readonly write: (name: string, content: string) => Promise<void>;
  /** Lets the clock of the file system move on. */
  readonly settle: () => Promise<void>;
  readonly turns: () => readonly Turn[];
  readonly undo: (number?: number) => Promise<RestoreResult>;
  readonly names: (folder: string) => Promise<readonly string[]>;
};

export async function undoBench(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  options: Partial<Pick<UndoOptions, 'limits' | 'retention'>> = {},
): Promise<UndoBench> {
  const folder = await tempFolder();
  const root = join(folder, 'w');
  await mkdir(root);
  const warnings: string[] = [];
  const recorder = createUndoRecorder({
    folder: join(folder, 'store'),
    roots: [root],
    ports: {
      excluded: [],
      isSecret: (path) => path.endsWith('.env'),
      isIgnored: async () => false,
      now: Date.now,
      isDestructive: (command) => command.startsWith('destroy'),
      mask: (text) => text,
      warn: (text) => void warnings.push(text),
    },
    ...options,
  });
  const workspace = await createWorkspace({ root, keepBefore: recorder.keepBefore });
  const store = storeFolders(join(folder, 'store'));
  const path = (name: string) => join(root, name);
  const put = async (name: string, content: string | Uint8Array) => {
    await mkdir(dirname(path(name)), { recursive: true });
    await writeFile(path(name), content);
  };
  for (const [name, content] of Object.entries(files)) await put(name, content);
  recorder.beginTurn({ task: 'the task', sessionId: 's' });
  return {
    root,
    store,
    recorder,
    workspace,
    warnings,
    path,
    put,
    text: (name) => readFile(path(name), 'utf8'),
    write: async (name, content) => workspace.write(await workspace.locate(name), Buffer.from(content)),
    settle: () => sleep(80),
    turns: () => readTurns(store.turns),
    undo: async (number) => {
      recorder.close();
      const turns = readTurns(store.turns);
      const turn = number === undefined ? turns.at(-1) : turns.find((each) => each.number === number);
      if (turn === undefined) throw new Error('There is no such turn.');
      recorder.beginTurn({ task: 'undo', sessionId: 's', undoes: turn.number });
      const result = await restoreTurn({
        turn,
        laterTurns: [],
        store: createBlobStore(store.blobs),
        gate: workspace,
        note: recorder.note,
        overrules: async () => false,
        isDryRun: false,
      });
      recorder.close();
      return result;
    },
    names: async (name) => (await readdir(join(name), { recursive: true })).toSorted(),
  };
}
