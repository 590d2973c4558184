/** Looks through a workspace once, for files that a sandbox treats in a way of their own. Bounded, and follows no link. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isProtectedPath } from '../../permissions/protected-paths.js';
import { isSecretFile } from '../../permissions/secret-files.js';
import { contains } from './environment.js';

const MAX_ENTRIES = 20_000; // About 0.2 s; a bigger workspace is told that it was not looked through.
const BIG_FOLDERS = new Set(['.git', 'node_modules']);
const MAX_NESTED = 100; // Each is mounted for each command.

export type Scan = {
  /** Files that have another name outside of what was looked at: a write goes there too. */
  readonly hardLinks: readonly string[];
  /** Files, and folders that hold nothing else. Links among them as they are. */
  readonly secrets: readonly string[];
  /** Below the folders of the workspace: what decides what runs later, as `.git` of another repository. */
  readonly nested: readonly string[];
  /** Folders that git takes for a repository by what is in them. */
  readonly bare: readonly string[];
  readonly isWhole: boolean;
  /** Whether all that is `nested` or `bare` is named. */
  readonly areNestedWhole: boolean;
};

/** Near files come before far ones. */
export async function scanForSandbox(roots: readonly string[], maxEntries = MAX_ENTRIES): Promise<Scan> {
  const linked = new Map<string, { readonly path: string; readonly names: number; readonly seen: number }>();
  const secrets: string[] = [];
  const nested: string[] = [];
  const bare: string[] = [];
  const folders = [...roots];
  // Big, and without anything of the project's own but hard links.
  const later: string[] = [];
  const next = () => folders.shift() ?? later.shift();
  let left = maxEntries;
  for (let folder = next(); folder !== undefined; folder = next()) {
    const inGit = /\/\.git(?:\/|$)/.test(folder);
    const inModules = /\/node_modules(?:\/|$)/.test(folder);
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    left -= entries.length;
    if (left < 0) break;
    const files: string[] = [];
    if (!inGit && !inModules && isBare(entries.map(({ name }) => name))) bare.push(folder);
    const isPart = !inGit && !inModules && !roots.includes(folder) && !nested.some((path) => contains(path, folder));
    for (const entry of entries) {
      const path = join(folder, entry.name);
      const isSecret = !inGit && !inModules && isSecretName(entry.name, entry.isDirectory());
      if (isSecret) secrets.push(path);
      else if (entry.isDirectory()) (inGit || inModules || BIG_FOLDERS.has(entry.name) ? later : folders).push(path);
      if (isPart && isProtectedPath(entry.name)) nested.push(path);
      if (entry.isFile()) files.push(path);
    }
    for (const { path, stat } of await Promise.all(files.map(async (path) => ({ path, stat: await statOf(path) })))) {
      if (stat === undefined || stat.nlink < 2) continue;
      const key = `${stat.dev}:${stat.ino}`;
      const before = linked.get(key);
      linked.set(key, { path: before?.path ?? path, names: stat.nlink, seen: (before?.seen ?? 0) + 1 });
    }
  }
  const hardLinks = [...linked.values()].filter(({ names, seen }) => seen < names).map(({ path }) => path);
  return {
    hardLinks,
    secrets,
    nested: nested.slice(0, MAX_NESTED),
    bare: bare.slice(0, MAX_NESTED),
    isWhole: left >= 0,
    areNestedWhole: nested.length <= MAX_NESTED && bare.length <= MAX_NESTED,
  };
}

function isBare(names: readonly string[]): boolean {
  return ['HEAD', 'objects', 'refs'].every((name) => names.includes(name));
}

/** A folder counts where all that is in it is secret, as in `.ssh`. */
function isSecretName(name: string, isFolder: boolean): boolean {
  return isFolder ? isSecretFile(join(name, 'x')) : isSecretFile(name);
}

async function statOf(path: string) {
  return lstat(path).catch(() => undefined);
}
