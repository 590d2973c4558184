/** What the sandbox keeps commands to, from what is on this disk now. How that is enforced is each sandbox's own matter. */
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { delimiter, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { isProtectedPath, PROTECTED_FOLDERS, PROTECTED_NAMES } from '../../permissions/protected-paths.js';
import { isSecretFile } from '../../permissions/secret-files.js';
import { contains } from './environment.js';
import { type GitRules, rulesOfGitFile, rulesOfGitFolder } from './sandbox-git.js';
import type { Scan } from './sandbox-scan.js';
import { joined, type Missing, type SandboxPolicy } from './sandbox-types.js';

/** What stands still while a program runs. */
export type SandboxGround = {
  /** Real paths of the workspace's folders. */
  readonly roots: readonly string[];
  /** The user's home, by the environment and by the account. */
  readonly homes: readonly string[];
  /** Folders of ours and of the system's that hold settings and keys; they need not exist. */
  readonly ownFolders: readonly string[];
  /** The PATH of commands. */
  readonly path: string;
  /** The node that runs us. */
  readonly execPath: string;
  /** What the user wants to be readable. */
  readonly shown: readonly string[];
  /** Secret files found in the workspace. */
  readonly secrets: readonly string[];
  /** See there: found by a look through the workspace. */
  readonly nested: Scan['nested'];
  readonly bare: Scan['bare'];
  readonly network: boolean;
};

/** In the home: programs that were installed there, and what names the author of a commit. */
const READABLE_AT_HOME = [
  ...['.nvm', '.volta', '.pyenv', '.cargo', '.rustup', '.local/bin', '.local/lib', '.asdf', '.fnm', '.bun', '.deno'],
  ...['.rbenv', '.goenv', '.sdkman', '.dotnet', 'go', '.local/share/mise', '.local/share/fnm', '.local/share/pnpm'],
  ...['.local/share/uv', '.local/share/pipx', '.gitconfig'],
  ...['.config/git/config', '.config/git/ignore', '.config/git/attributes'],
];
/** Secrets within those. */
const MASKED_AT_HOME = ['.cargo/credentials', '.cargo/credentials.toml'];
/** The account of the superuser could read them, and no command has to. */
const MASKED_IN_SYSTEM = ['/etc/shadow', '/etc/gshadow', '/etc/shadow-', '/etc/gshadow-'];

const ALWAYS_EMPTY = ['/tmp', '/run', '/var/tmp'];
/** Nothing would start if one of them were empty. */
const NEVER_HIDDEN = new Set(['/', '/usr', '/bin', '/lib', '/lib64', '/etc', '/opt', '/var', '/nix', '/home']);

/** `programs`: what is to be started, wherever it is. `spools`: folders with the whole output of commands. */
export async function policyFor(
  ground: SandboxGround,
  { programs, spools }: { readonly programs: readonly string[]; readonly spools: readonly string[] },
): Promise<SandboxPolicy> {
  const outside = await outsideOf(ground, programs);
  const parts = await Promise.all(ground.roots.map((root) => insideOf(root, ground)));
  const nested = await Promise.all([
    ...ground.nested.map((path) => nestedAt(path, ground)),
    ...ground.bare.map((path) => bareAt(path, ground)),
  ]);
  const shown = await existing([...ground.shown, ...spools]);
  const policy = joined(outside, { writable: ground.roots, shown }, ...parts, ...nested);
  // Two folders of the workspace may be worktrees of one repository.
  return { ...policy, missing: [...new Map(policy.missing.map((stub) => [stub.path, stub])).values()] };
}

/** Why no sandbox can hold for these folders; undefined where it can. */
export async function groundProblem({
  roots,
  homes,
}: Pick<SandboxGround, 'roots' | 'homes'>): Promise<string | undefined> {
  for (const root of roots) {
    if (root === '/') return 'the workspace is the whole disk';
    const home = (await existing(homes)).find((home) => contains(root, home));
    if (home !== undefined) return `the workspace ${root} holds the home folder ${home}`;
  }
  return undefined;
}

/** What `git` won't be able to do, as sentences. */
export async function gitProblems(roots: readonly string[]): Promise<string[]> {
  const rules = await Promise.all(roots.map((root) => gitRules(root, roots)));
  return rules.flatMap(({ problem }) => problem ?? []);
}

async function outsideOf(ground: SandboxGround, programs: readonly string[]): Promise<Partial<SandboxPolicy>> {
  const { roots, homes, ownFolders, execPath } = ground;
  const isOutside = (path: string) => !roots.some((root) => contains(root, path));
  const hidden = (await existing([...homes, ...ownFolders])).filter((path) => !NEVER_HIDDEN.has(path));
  const isHidden = (path: string) => [...ALWAYS_EMPTY, ...hidden].some((folder) => contains(folder, path));
  const bins = [...ground.path.split(delimiter).filter((entry) => isAbsolute(entry)), dirname(execPath)];
  const wanted = [
    ...homes.flatMap((home) => READABLE_AT_HOME.map((name) => join(home, name))),
    // A program's libraries stand beside the folder with its name.
    ...bins.flatMap((bin) => [bin, join(dirname(bin), 'lib')]),
    ...programs,
    ...(ground.network ? ['/etc/resolv.conf'] : []),
  ];
  const isShown = (path: string) =>
    isHidden(path) &&
    isOutside(path) &&
    !ALWAYS_EMPTY.includes(path) &&
    !hidden.some((folder) => contains(path, folder));
  // By the name that is used, and where a link leads.
  const spellings = async (path: string) => {
    const real = await realpath(path).catch(() => undefined);
    return real === undefined ? [] : [path, real].filter(isShown);
  };
  const readable = await Promise.all([...new Set(wanted)].map(spellings));
  const masked = [...homes.flatMap((home) => MASKED_AT_HOME.map((name) => join(home, name))), ...MASKED_IN_SYSTEM];
  return { hidden: hidden.filter(isOutside), readable: outermost(readable.flat()), masked: await existing(masked) };
}

/** Without those that another one holds: in what is shown as it is, a link can be no place to show something at. */
function outermost(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => !paths.some((other) => other !== path && contains(other, path)));
}

/** What of one folder of the workspace stays as it is. */
async function insideOf(root: string, ground: SandboxGround): Promise<SandboxPolicy> {
  const names = await readdir(root);
  const parts = await Promise.all(names.filter((name) => isProtectedPath(name)).map((name) => kept(join(root, name))));
  const absent = [...PROTECTED_FOLDERS, ...PROTECTED_NAMES].filter((name) => !names.includes(name));
  // A folder, also where it would be a file: git overlooks empty ones, and would take in a file.
  const missing: Missing[] = absent.map((name) => ({ path: join(root, name), kind: 'folder' }));
  const own = await Promise.all(
    ground.ownFolders.filter((folder) => contains(root, folder)).map((folder) => ownFolder(root, folder)),
  );
  // Else a command could make a repository of the folder itself, whose configuration the next `git status` would follow.
  if (!names.includes('.git') && !names.includes('HEAD')) missing.push({ path: join(root, 'HEAD'), kind: 'folder' });
  const git = await gitRules(root, ground.roots);
  const atRoot = names.filter((name) => isSecretFile(name)).map((name) => join(root, name));
  const secrets = [...ground.secrets.filter((path) => contains(root, path)), ...atRoot];
  return joined(...parts, { missing }, ...own, git.policy, await secretsOf(secrets));
}

async function kept(path: string): Promise<Partial<SandboxPolicy>> {
  return path.endsWith(`${sep}.git`) ? {} : keptWhole(path);
}

async function keptWhole(path: string): Promise<Partial<SandboxPolicy>> {
  const entry = await lstat(path);
  if (!entry.isSymbolicLink()) return { readOnly: [path] };
  // Nothing can be mounted on a link; where it leads is read-only or protected by that name.
  return { links: [{ path, target: await readlink(path) }] };
}

/** What is protected deeper in the workspace. It may be gone since it was found. */
async function nestedAt(path: string, ground: SandboxGround): Promise<Partial<SandboxPolicy>> {
  if (!(await exists(path))) return {};
  const anchored = foldersAbove(path, ground);
  const isRepository = path.endsWith(`${sep}.git`) && (await exists(join(path, 'HEAD')));
  return joined({ anchored }, isRepository ? await rulesOfGitFolder(path) : await keptWhole(path));
}

async function bareAt(path: string, ground: SandboxGround): Promise<Partial<SandboxPolicy>> {
  if (!(await exists(join(path, 'HEAD')))) return {};
  return joined({ anchored: foldersAbove(path, ground) }, await rulesOfGitFolder(path));
}

/** Those between the workspace's own folder and this path: none may be moved away and another put in its place. */
function foldersAbove(path: string, { roots }: Pick<SandboxGround, 'roots'>): string[] {
  const folder = dirname(path);
  if (roots.includes(path) || roots.includes(folder) || folder === path) return [];
  return [...foldersAbove(folder, { roots }), folder];
}

async function gitRules(root: string, roots: readonly string[]): Promise<GitRules> {
  const path = join(root, '.git');
  const entry = await lstat(path).catch(() => undefined);
  if (entry === undefined) return { policy: {} };
  if (entry.isDirectory()) return { policy: await rulesOfGitFolder(path, root) };
  if (entry.isFile()) return rulesOfGitFile(path, roots);
  return { policy: { links: [{ path, target: await readlink(path) }] } };
}

/** A folder of ours in the workspace holds keys and what was trusted. */
async function ownFolder(root: string, folder: string): Promise<Partial<SandboxPolicy>> {
  const parts = relative(root, folder).split(sep);
  const anchored: string[] = [];
  let path = root;
  for (const part of parts) {
    path = join(path, part);
    if (!(await exists(path))) return { anchored, missing: [{ path, kind: 'folder' }] };
    if (path !== folder) anchored.push(path);
  }
  return { anchored, maskedFolders: [folder] };
}

/** By where they lead: nothing can be put over a link. */
async function secretsOf(paths: readonly string[]): Promise<Partial<SandboxPolicy>> {
  const real = await existing(paths);
  const entries = await Promise.all(real.map(async (path) => ({ path, entry: await lstat(path) })));
  return {
    masked: entries.filter(({ entry }) => !entry.isDirectory()).map(({ path }) => path),
    maskedFolders: entries.filter(({ entry }) => entry.isDirectory()).map(({ path }) => path),
  };
}

/** The real paths of those that there are. */
async function existing(paths: readonly string[]): Promise<string[]> {
  const real = await Promise.all([...new Set(paths)].map((path) => realpath(path).catch(() => undefined)));
  return [...new Set(real.filter((path) => path !== undefined))];
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** The home of the account that we run as, as the system has it; the environment may say something else. */
export function accountHomes(environmentHome: string | undefined): string[] {
  return [environmentHome, accountHome()].flatMap((home) => (home !== undefined && isAbsolute(home) ? [home] : []));
}

function accountHome(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    return undefined; // An account without an entry, as containers have.
  }
}
