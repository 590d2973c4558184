/**
 * What of git's own folders stays as it is: whatever makes git run a program later (configuration, hooks, attributes) or
 * sends it to another folder. Objects, branches and the index stay writable, so that `git commit` works.
 */
import { lstat, readdir, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Missing, SandboxPolicy } from './sandbox-types.js';

const MAX_FOLDERS = 200; // of submodules and worktrees together; more of them than anybody has.

/** `problem`: why `git commit` won't work there. */
export type GitRules = { readonly policy: Partial<SandboxPolicy>; readonly problem?: string };

/** For the folder `.git`, as its real path, of the workspace's folder `root`; without that, of a submodule. */
export async function rulesOfGitFolder(git: string, root?: string): Promise<Partial<SandboxPolicy>> {
  const folders = [git];
  const anchored = [git];
  for (const name of await namesIn(join(git, 'worktrees'))) {
    folders.push(join(git, 'worktrees', name));
    anchored.push(join(git, 'worktrees'), join(git, 'worktrees', name));
  }
  await addModules(join(git, 'modules'), folders, anchored);
  const kept = await Promise.all(folders.slice(0, MAX_FOLDERS).map(keptIn));
  return {
    anchored,
    ...(root !== undefined && { excludes: [{ file: join(git, 'info/exclude'), root }] }),
    readOnly: kept.flatMap(({ readOnly }) => readOnly),
    missing: kept.flatMap(({ missing }) => missing),
  };
}

/** A submodule's name may have slashes, and a submodule may have some of its own. */
async function addModules(folder: string, folders: string[], anchored: string[]): Promise<void> {
  const names = await namesIn(folder);
  if (names.length === 0 || folders.length >= MAX_FOLDERS) return;
  anchored.push(folder);
  for (const path of names.map((name) => join(folder, name))) {
    anchored.push(path);
    const isRepository = await lstat(join(path, 'HEAD')).then(
      () => true,
      () => false,
    );
    if (isRepository) folders.push(path);
    await addModules(isRepository ? join(path, 'modules') : path, folders, anchored);
  }
}

async function keptIn(folder: string): Promise<{ readOnly: string[]; missing: Missing[] }> {
  const isWorktree = basename(dirname(folder)) === 'worktrees';
  const names: readonly string[] = await readdir(folder).catch(() => []);
  const fixed = names.filter(
    (name) => /^config|^(?:hooks|info|commondir|gitdir)$/.test(name) && name !== 'config.lock',
  );
  const missing: Missing[] = [{ path: join(folder, 'config.worktree'), kind: 'file', content: '' }];
  // It would send git to another folder for its configuration. This one says what holds without it.
  missing.push({ path: join(folder, 'commondir'), kind: 'file', content: '.\n' });
  if (!isWorktree) {
    missing.push({ path: join(folder, 'hooks'), kind: 'folder' }, { path: join(folder, 'info'), kind: 'folder' });
    missing.push({ path: join(folder, 'config'), kind: 'file', content: '' });
  }
  return {
    readOnly: fixed.map((name) => join(folder, name)),
    missing: missing.filter(({ path }) => !names.includes(basename(path))),
  };
}

/**
 * For a workspace whose `.git` is a file that names a folder. The repository becomes writable where the file is that of
 * one of its worktrees by its own word: a file alone may name any repository.
 */
export async function rulesOfGitFile(file: string, writable: readonly string[]): Promise<GitRules> {
  const named = await textOf(file);
  const target = /^gitdir: (.+)$/m.exec(named)?.[1];
  if (target === undefined) return { policy: { readOnly: [file] } };
  const problem = `${file} leads to ${target.trim()}, outside of the workspace: git can't commit in the sandbox. Start where that folder is inside, or add it with --add-dir.`;
  try {
    const folder = await realpath(resolve(dirname(file), target.trim()));
    if (writable.some((root) => folder.startsWith(`${root}/`))) {
      // A submodule, or a worktree of a repository in the workspace: it has rules as a part of that, or has them here.
      return { policy: joinRules(await rulesOfGitFolder(folder), file) };
    }
    const repository = await realpath(resolve(folder, (await textOf(join(folder, 'commondir'))).trim()));
    const back = await realpath((await textOf(join(folder, 'gitdir'))).trim());
    if (dirname(folder) !== join(repository, 'worktrees') || back !== file)
      return { policy: { readOnly: [file] }, problem };
    const rules = await rulesOfGitFolder(repository, dirname(file));
    return { policy: { ...joinRules(rules, file), writable: [repository] } };
  } catch {
    return { policy: { readOnly: [file] }, problem };
  }
}

function joinRules(rules: Partial<SandboxPolicy>, file: string): Partial<SandboxPolicy> {
  return { ...rules, readOnly: [...(rules.readOnly ?? []), file] };
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8');
}
