/**
 * A folder held open while something is made in it: what is named through it lands there, whatever its path leads to by
 * then. Node has no `openat`; on Linux `/proc/self/fd` serves for it, elsewhere the folder is looked at before and after.
 */
import { constants } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { foldCase } from './locate.js';
import { isSystemError } from './system-error.js';
import { ToolFailure } from './types.js';

export type OpenFolder = {
  /** A path to the entry `name` that leads through the open folder. */
  at(name: string): string;
  /** @throws {ToolFailure} `outside-workspace` when its path leads elsewhere by now. */
  confirm(): Promise<void>;
  /** Removes the folders that were made to open it, as far as they are empty. */
  undo(): Promise<void>;
  /** Without this a power cut may forget a rename. */
  sync(): Promise<void>;
  close(): Promise<void>;
};

type Folder = Pick<OpenFolder, 'at' | 'confirm' | 'close'>;

// Node does not name it. Needs no right to list the folder, and cannot be used to read from it.
const O_PATH = 0o10000000;
const PINNED_FLAGS = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Opens a folder by its real path, and makes it where it is missing. `shown` names the file it is for, in failures.
 * @throws {ToolFailure} `outside-workspace` when there is a link on the way by now. {Error} of the system otherwise.
 */
export async function openFolder(path: string, shown: string): Promise<OpenFolder> {
  const held: Folder[] = [];
  const made: { readonly parent: Folder; readonly name: string }[] = [];
  const close = async () => {
    for (const each of held.splice(0)) await each.close();
  };
  const undo = async () => {
    // One that is not empty has got something else in it meanwhile, and stays.
    for (const { parent, name } of made.splice(0).reverse()) await rmdir(parent.at(name)).catch(() => undefined);
  };
  try {
    // Not by mkdir's `recursive`, which never ends where a folder cannot be made though nothing is in its way (/proc).
    let { folder, missing } = await deepestExisting(path, shown);
    held.push(folder);
    let reached = missing.reduce(dirname, path);
    for (const name of missing) {
      if (await makeFolder(folder.at(name))) made.push({ parent: folder, name });
      reached = join(reached, name);
      folder = await pin(reached, shown);
      held.push(folder);
    }
    const { at, confirm } = folder;
    return { at, confirm, undo, sync: () => syncFolder(at('.')), close };
  } catch (thrown) {
    await undo();
    await close();
    throw thrown;
  }
}

/** The nearest parent that is there, and the names below it that are not, outermost first. */
async function deepestExisting(path: string, shown: string): Promise<{ folder: Folder; missing: readonly string[] }> {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return { folder: await pin(at, shown), missing };
    } catch (thrown) {
      if (!isSystemError(thrown, 'ENOENT') || dirname(at) === at) throw thrown;
      missing.unshift(basename(at));
    }
  }
}

/** False when it is there already. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (thrown) {
    if (isSystemError(thrown, 'EEXIST')) return false;
    throw thrown;
  }
}

async function pin(path: string, shown: string): Promise<Folder> {
  return (process.platform === 'linux' ? await pinByDescriptor(path, shown) : undefined) ?? watchByName(path, shown);
}

/** Undefined where there is no /proc to lead through. */
async function pinByDescriptor(path: string, shown: string): Promise<Folder | undefined> {
  const handle = await open(path, PINNED_FLAGS).catch(async (thrown: unknown) => {
    // What was a folder when the path was resolved is a link now.
    const isLink = isSystemError(thrown, 'ENOTDIR', 'ELOOP') && (await lstat(path)).isSymbolicLink();
    throw isLink ? movedAway(shown) : thrown;
  });
  const door = `/proc/self/fd/${handle.fd}`;
  const whereTo = () => readlink(door).catch(() => undefined);
  const found = await whereTo();
  if (found === path) {
    return {
      at: (name) => `${door}/${name}`,
      async confirm() {
        if ((await whereTo()) !== path) throw movedAway(shown);
      },
      close: () => handle.close(),
    };
  }
  await handle.close();
  if (found !== undefined) throw movedAway(shown);
  return undefined;
}

async function watchByName(path: string, shown: string): Promise<Folder> {
  async function identify(): Promise<string> {
    if (foldCase(await realpath(path)) !== foldCase(path)) throw movedAway(shown);
    const { dev, ino } = await stat(path);
    return `${dev}:${ino}`;
  }
  const before = await identify();
  return {
    at: (name) => join(path, name),
    async confirm() {
      if ((await identify()) !== before) throw movedAway(shown);
    },
    close: async () => undefined,
  };
}

function movedAway(shown: string): ToolFailure {
  return new ToolFailure('outside-workspace', `The folder of ${shown} was replaced meanwhile. Nothing was written.`);
}

async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  try {
    const handle = await open(path, constants.O_RDONLY);
    await handle.sync().finally(() => handle.close());
  } catch {
    // Not every system can do it. The file is in place for all who read it, so this is not a failure of the write.
  }
}
