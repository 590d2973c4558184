/** The sha256 of a file or of a folder with all that is in it: what the user's trust is bound to. */
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { boundedRead } from '../config/bounded-read.js';
import { sha256Of } from '../config/trust.js';
import { messageOf } from '../errors.js';

export type ProjectHash = { readonly sha256: string } | { readonly problem: string };

const ENTRIES_AT_MOST = 500; // A skill is a page and some scripts; hashing must not slow down a start.
const BYTES_AT_MOST = 8 * 1024 * 1024;

/** Links are followed, so that what they lead to is covered; `problem` says, behind a name, why there is no hash. */
export async function hashOf(path: string): Promise<ProjectHash> {
  try {
    const left = { entries: ENTRIES_AT_MOST, bytes: BYTES_AT_MOST };
    return { sha256: (await stat(path)).isDirectory() ? await folderHash(path, left) : await fileHash(path, left) };
  } catch (thrown) {
    return { problem: messageOf(thrown) };
  }
}

type Left = { entries: number; bytes: number };

/** Of names and contents; a loop of links ends at the number of entries. */
async function folderHash(folder: string, left: Left): Promise<string> {
  const entries: readonly Dirent[] = await readdir(folder, { withFileTypes: true });
  const lines: string[] = [];
  for (const { name } of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    left.entries -= 1;
    if (left.entries < 0) throw new Error(`it has more than ${ENTRIES_AT_MOST} files`);
    const path = join(folder, name);
    const isFolder = (await stat(path)).isDirectory();
    lines.push(JSON.stringify([name, isFolder, await (isFolder ? folderHash : fileHash)(path, left)]));
  }
  return sha256Of(lines.join('\n'));
}

async function fileHash(file: string, left: Left): Promise<string> {
  // As bytes: two contents that are no text must not look alike.
  const content = await boundedRead(file, { maxBytes: left.bytes, encoding: 'latin1' });
  if (content === undefined)
    throw new Error(`it holds more than ${BYTES_AT_MOST / 1024 / 1024} MB, or no regular file`);
  left.bytes -= content.length;
  return sha256Of(Buffer.from(content, 'latin1'));
}
