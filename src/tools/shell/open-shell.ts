/** Finds the shell that the configuration names. Nothing is looked for where none is set, but on Windows. */
import { realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { ConfigError } from '../../errors.js';
import { contains, findProgram, isProgram, pathOutside } from './environment.js';
import { kindOf, SHELLS_OF_WINDOWS, shellNamed } from './which-shell.js';

export type ShellSearch = {
  /** CHATCLI_SHELL: a name, or an absolute path. */
  readonly setting: string | undefined;
  /** The PATH of child processes. */
  readonly path: string;
  /** Real paths of the workspace's folders: a name never means a program in there. */
  readonly roots: readonly string[];
};

/**
 * The absolute path of the shell; undefined where none is set: then the tool takes bash or /bin/sh.
 * @throws {ConfigError} when it is not there, or none that we know how to call.
 */
export async function openShell({ setting, path, roots }: ShellSearch): Promise<string | undefined> {
  if (setting === undefined) return process.platform === 'win32' ? firstOf(SHELLS_OF_WINDOWS, path) : undefined;
  const { isRead } = kindOf(shellNamed(setting));
  const file = isAbsolute(setting) ? setting : await byName(setting, pathOutside(roots, path));
  if (!((await isProgram(file)) && (await isFile(file)))) {
    throw missing(`CHATCLI_SHELL is ${setting}, and ${file} is no program that can be run.`);
  }
  // Some of its commands run without a question: whoever may edit files must not be able to say what they run in.
  if (isRead && (await isWithin(roots, file))) {
    throw missing(`CHATCLI_SHELL is ${setting}, and that is in the workspace, where a model may change it.`);
  }
  return file;
}

async function byName(name: string, path: string): Promise<string> {
  if (/[\\/]/.test(name)) throw missing(`CHATCLI_SHELL is ${name}: a path has to be absolute.`);
  const found = await findProgram(name, path);
  if (found !== undefined) return found;
  throw missing(`CHATCLI_SHELL is ${name}, and no folder of the PATH outside the workspace has such a program.`);
}

/** Whether a file is in one of `roots`, by where it is named or by where it leads. */
async function isWithin(roots: readonly string[], file: string): Promise<boolean> {
  const places = await Promise.all([realpath(file), realpath(dirname(file)).then((folder) => join(folder, 'x'))]);
  return roots.some((root) => places.some((place) => contains(root, place)));
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isFile(),
    () => false,
  );
}

async function firstOf(names: readonly string[], path: string): Promise<string | undefined> {
  for (const name of names) {
    const found = await findProgram(name, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

function missing(message: string): ConfigError {
  return new ConfigError(message, {
    hint: 'Install it, give its absolute path, or leave CHATCLI_SHELL unset for bash.',
  });
}
