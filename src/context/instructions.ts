/** Finds the instruction files that count for a folder: AGENTS.md and its kin. */
import { lstat, open, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/** A quarter of this is a long file already; all of it is paid for in every request. */
const LIMIT_BYTES = 32 * 1024;
/** The first of these that a folder holds counts for it. */
const NAMES = ['AGENTS.override.md', 'AGENTS.md', 'CLAUDE.md'];

export type Instructions = {
  /** From the widest scope to the nearest. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** Set when not all of them fitted in 32 KiB. */
  readonly cut: boolean;
};

/** Reads the user's file (if any), then one file a folder from the repository's `root` down to `cwd`. */
export async function loadInstructions(
  cwd: string,
  { root, userFolder }: { readonly root: string; readonly userFolder: string },
): Promise<Instructions> {
  const candidates = [await readFirst(userFolder, userFolder)];
  for (const folder of foldersBetween(root, cwd)) candidates.push(await readFirst(folder, root));

  const files: { path: string; text: string }[] = [];
  let left = LIMIT_BYTES;
  let cut = false;
  for (const candidate of candidates) {
    if (candidate === undefined) continue;
    const bytes = Buffer.from(candidate.text);
    const text =
      bytes.length <= left ? candidate.text : new TextDecoder().decode(bytes.subarray(0, left)).replace(/\uFFFD$/, '');
    cut ||= bytes.length > left;
    left -= Math.min(left, bytes.length);
    if (text !== '') files.push({ path: candidate.path, text });
  }
  return { files, cut };
}

function foldersBetween(root: string, cwd: string): readonly string[] {
  const steps = relative(root, cwd)
    .split(sep)
    .filter((step) => step !== '');
  return [root, ...steps.map((_step, index) => join(root, ...steps.slice(0, index + 1)))];
}

async function readFirst(folder: string, root: string): Promise<{ path: string; text: string } | undefined> {
  for (const name of NAMES) {
    const path = join(folder, name);
    const text = await readInside(path, root);
    if (text !== undefined && text.trim() !== '') return { path, text };
  }
  return undefined;
}

/** The text, or its start, of a regular file that really lies below `root`: a link out of the project brings in nothing. */
async function readInside(path: string, root: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    const inside = !relative(await realpath(root), real).startsWith('..');
    const stats = await lstat(real);
    if (!inside || !stats.isFile()) return undefined;
    return (await readStart(real)).replace(/^\uFEFF/, '');
  } catch {
    // Not there or not readable: an optional file that does not count.
    return undefined;
  }
}

/** Of a longer file only so much that it is seen to be longer: more than the limit also without a byte order mark. */
async function readStart(path: string): Promise<string> {
  const file = await open(path);
  try {
    const buffer = Buffer.alloc(LIMIT_BYTES + 8);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, null);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return buffer.toString('utf8', 0, length);
  } finally {
    await file.close();
  }
}
