/** Where ripgrep is: the one that came with us, else one on the PATH that the workspace cannot have put there. */
import { constants } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { isInside } from '../locate.js';
import type { ToolContext } from '../types.js';

/** Absolute path of an executable; undefined where there is none. */
export async function findRipgrep({
  workspace,
  childEnvironment,
}: Pick<ToolContext, 'workspace' | 'childEnvironment'>): Promise<string | undefined> {
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg';
  const folders = (childEnvironment.PATH ?? '').split(delimiter).filter(isAbsolute);
  const candidates = [await bundledRipgrep(), ...folders.map((folder) => join(folder, name))];
  for (const candidate of candidates) {
    if (candidate === undefined) continue;
    const real = await executable(candidate);
    const isOurs = candidate === candidates[0];
    if (real !== undefined && (isOurs || !workspace.roots.some((root) => isInside(root, real)))) return real;
  }
  return undefined;
}

/** An optional package: its program exists for the usual systems only, and an install may leave it out. */
async function bundledRipgrep(): Promise<string | undefined> {
  try {
    return (await import('@vscode/ripgrep')).rgPath;
  } catch {
    return undefined; // Not installed: the next candidates are tried.
  }
}

async function executable(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    return await realpath(path);
  } catch {
    return undefined; // Not there, or not ours to run.
  }
}
