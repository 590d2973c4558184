/** What a command runs in: its shell, its environment, and the stricter one of commands that nobody was asked about. */
import { constants, realpathSync } from 'node:fs';
import { access, writeFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join, relative, sep } from 'node:path';
import { analyzeCommand } from '../../permissions/shell-analysis.js';
import { isReadOnlyCommand } from '../../permissions/shell-table.js';
import type { ToolContext } from '../types.js';

/** Nothing may wait for somebody. What the person has set counts before these. */
const NOBODY_ANSWERS = {
  DEBIAN_FRONTEND: 'noninteractive',
  GIT_EDITOR: 'true', // takes the message that git proposes.
  PIP_NO_INPUT: '1',
  SSH_ASKPASS_REQUIRE: 'never',
} as const;

/**
 * The environment for `command`. One that the read-only table lets pass gets its program from outside the workspace,
 * which could hold an `ls` of its own, and an `rg` that leaves out secret files, which an ignore file of the workspace
 * could bring in. `isRead`: the table knows what the words of its shell mean.
 */
export async function environmentOf(
  command: string,
  isRead: boolean,
  context: ToolContext,
): Promise<Record<string, string>> {
  const environment: Record<string, string> = { ...NOBODY_ANSWERS, ...context.childEnvironment };
  if (!isRead || !isReadOnlyCommand(command)) return environment;
  environment.PATH = pathOutside(context.workspace.roots, environment.PATH ?? '');
  const programs = new Set(analyzeCommand(command).commands.map(({ words }) => words[0]));
  if (programs.has('rg')) environment.RIPGREP_CONFIG_PATH = await writeRipgrepConfig(context);
  return programs.has('git') ? { ...environment, ...QUIET_GIT } : environment;
}

// Settings from the environment win over those of a repository. A log may else have signatures checked by a program that the
// repository names, or fetch what is missing from it by another one.
const GIT_SETTINGS = Object.entries({
  'core.fsmonitor': 'false',
  'core.hooksPath': '/dev/null',
  'core.pager': 'cat',
  'log.showSignature': 'false',
  'format.pretty': 'medium',
  'gpg.program': 'false',
  'gpg.ssh.program': 'false',
  'gpg.x509.program': 'false',
});
const QUIET_GIT: Readonly<Record<string, string>> = {
  GIT_CONFIG_COUNT: `${GIT_SETTINGS.length}`,
  ...Object.fromEntries(
    GIT_SETTINGS.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_PAGER: 'cat',
};

/** The absolute entries of a PATH that are not in one of `roots`. Looked up at each call: a link may lead elsewhere by now. */
export function pathOutside(roots: readonly string[], path: string): string {
  const entries = path.split(delimiter).filter((entry) => isAbsolute(entry));
  return entries.filter((entry) => !roots.some((root) => contains(root, realPathOf(entry)))).join(delimiter);
}

/** Ten of these take 0.1 ms; handed to the pool of threads they took 2 ms of each turn. */
function realPathOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/** Whether a path is a folder or below it, as both are spelled. */
export function contains(folder: string, path: string): boolean {
  const below = relative(folder, path);
  return below !== '..' && !below.startsWith(`..${sep}`) && !isAbsolute(below);
}

// The names of permissions/secret-files.ts; these globs win over whitelists in ignore files.
const HIDDEN_FROM_RIPGREP = [
  ...['.env', '.env.*', '*.pem', 'id_rsa*', 'id_dsa*', 'id_ecdsa*', 'id_ed25519*', 'id_xmss*', '.netrc', '_netrc'],
  ...['.npmrc', '.pypirc', '.git-credentials', '.ssh/', '.aws/', '.gnupg/', '.config/gh/'],
];

async function writeRipgrepConfig({ spoolDirectory }: ToolContext): Promise<string> {
  const path = join(await spoolDirectory(), 'ripgrep.conf');
  const lines = HIDDEN_FROM_RIPGREP.map((glob) => `--iglob=!${glob}\n`);
  await writeFile(path, lines.join(''), { mode: 0o600 });
  return path;
}

/** Finds bash in a PATH, and remembers it; undefined where there is none. */
export function createShellFinder(): (path: string) => Promise<string | undefined> {
  const known = new Map<string, Promise<string | undefined>>();
  return (path) => {
    const found = known.get(path) ?? findProgram('bash', path);
    known.set(path, found);
    return found;
  };
}

/** The first program of that name in the absolute entries of a PATH. */
export async function findProgram(name: string, path: string): Promise<string | undefined> {
  const base = process.platform === 'win32' && !/\.exe$/i.test(name) ? `${name}.exe` : name;
  for (const entry of path.split(delimiter).filter((entry) => isAbsolute(entry))) {
    const file = join(entry, base);
    if (await isProgram(file)) return file;
  }
  return undefined;
}

export async function isProgram(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
