/** Opens the sandbox of this system, after a try whether it works. Which commands run inside is decided elsewhere. */
import { randomUUID } from 'node:crypto';
import { readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../../errors.js';
import { type ProcessStart, runProcess } from '../../process.js';
import { ToolFailure } from '../types.js';
import { isProgram } from './environment.js';
import { bubblewrapArguments } from './sandbox-bubblewrap.js';
import { seatbeltArguments } from './sandbox-macos.js';
import { accountHomes, gitProblems, groundProblem, policyFor, type SandboxGround } from './sandbox-policy.js';
import { scanForSandbox } from './sandbox-scan.js';
import { createStubs, EXCLUDE, type Stubs } from './sandbox-stubs.js';
import { EMPTY_POLICY, type Sandbox, type SandboxPolicy } from './sandbox-types.js';

export type SandboxOptions = {
  /** Real paths of the workspace's folders, the main one first. */
  readonly roots: readonly string[];
  readonly childEnvironment: Readonly<Record<string, string>>;
  /** Folders of ours, which hold keys and settings. */
  readonly ownFolders: readonly string[];
  /** Where it is noted what has to be removed later. */
  readonly stateFolder: string;
  readonly network: boolean;
  /** Absolute paths that can be read inside, whatever is hidden. */
  readonly readable: readonly string[];
  /** Folders with the whole output of commands, as far as there are any yet. */
  readonly spools: () => readonly string[];
  /** For tests: where the program is looked for. */
  readonly programs?: readonly string[];
};

export type OpenedSandbox =
  | { readonly sandbox: Sandbox; readonly notices: readonly string[] }
  /** Why there is none, as half a sentence, and what would help. */
  | { readonly sandbox: undefined; readonly problem: string; readonly hint: string };

/** By absolute path: a PATH may lead anywhere. */
const BUBBLEWRAP = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/run/current-system/sw/bin/bwrap'];
const SEATBELT = ['/usr/bin/sandbox-exec'];

/** Looks at the workspace and tries the sandbox out once, which takes some 20 ms. */
export async function openSandbox(options: SandboxOptions): Promise<OpenedSandbox> {
  const found = await findSandbox(options.programs);
  if (found.file === undefined) return { sandbox: undefined, ...found };
  const ground = groundOf(options);
  const problem = await groundProblem(ground);
  if (problem !== undefined) {
    const hint = 'Start in the folder of one project, or name it: -C FOLDER.';
    return { sandbox: undefined, problem, hint };
  }
  const scan = await scanForSandbox(options.roots);
  const stubs = createStubs(options.stateFolder);
  await stubs.sweep();
  const whole = { ...ground, secrets: scan.secrets, nested: scan.nested, bare: scan.bare };
  const sandbox = found.isSeatbelt
    ? seatbelt(found.file, whole, options)
    : bubblewrap(found.file, whole, options, stubs);
  const notices = [...(await gitProblems(options.roots)), ...noticesOf(scan)];
  return { sandbox, notices };
}

export type FoundSandbox =
  | { readonly file: string; readonly name: string; readonly isSeatbelt: boolean }
  | { readonly file: undefined; readonly problem: string; readonly hint: string };

/** The sandbox of this system, if it is there and works. */
export async function findSandbox(
  programs?: readonly string[],
  platform: NodeJS.Platform = process.platform,
): Promise<FoundSandbox> {
  if (platform === 'darwin') {
    const file = await firstProgram(programs ?? SEATBELT);
    if (file === undefined) return { file, problem: 'sandbox-exec is missing', hint: 'It is a part of macOS.' };
    return tried(file, 'sandbox-exec', ['-p', '(version 1)(allow default)', '/usr/bin/true']);
  }
  if (platform !== 'linux')
    return { file: undefined, problem: `there is none for ${platform}`, hint: 'On Windows use WSL 2.' };
  const file = await firstProgram(programs ?? BUBBLEWRAP);
  if (file === undefined) return { file, problem: 'bubblewrap is not installed', hint: INSTALL };
  const args = bubblewrapArguments({ policy: EMPTY_POLICY, network: false, cwd: '/' });
  return tried(file, 'bubblewrap', [...args, '/bin/sh', '-c', ':']);
}

const INSTALL =
  'Install it: apt-get install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap or apk add bubblewrap.';

async function tried(file: string, name: string, args: readonly string[]): Promise<FoundSandbox> {
  const problem = await runProcess({ file, args, cwd: '/', env: {}, timeoutMs: 10_000 }).then(
    ({ exitCode, timedOut, stderr }) =>
      exitCode === 0 ? undefined : timedOut ? 'it did not end' : (stderr.split('\n')[0] ?? `exit code ${exitCode}`),
    messageOf,
  );
  if (problem === undefined) return { file, name, isSeatbelt: name === 'sandbox-exec' };
  return { file: undefined, problem: `${name} does not work here: ${problem.trim()}`, hint: hintFor(problem) };
}

function hintFor(problem: string): string {
  if (/Unknown option/i.test(problem)) return 'Version 0.8 or newer is needed.';
  if (/namespace|uid map|Operation not permitted|Permission denied|max_user_namespaces/i.test(problem))
    return 'User namespaces are needed: sysctl kernel.unprivileged_userns_clone=1 (Debian), an AppArmor profile for bwrap or kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), --privileged or a seccomp profile that allows them (containers).';
  return 'Try it by hand: bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev true';
}

async function firstProgram(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) if (await isProgram(file)) return file;
  return undefined;
}

function groundOf({ roots, childEnvironment, ownFolders, network, readable }: SandboxOptions): SandboxGround {
  const named = Object.entries(childEnvironment).flatMap(([name, value]) =>
    /^XDG_[A-Z]+_HOME$/.test(name) && value.startsWith('/') ? [value] : [],
  );
  return {
    roots,
    homes: accountHomes(childEnvironment.HOME),
    ownFolders: [...ownFolders, ...named],
    path: childEnvironment.PATH ?? '',
    execPath: process.execPath,
    shown: readable,
    secrets: [],
    nested: [],
    bare: [],
    network,
  };
}

function bubblewrap(
  file: string,
  ground: SandboxGround,
  { network, spools, stateFolder }: SandboxOptions,
  stubs: Stubs,
): Sandbox {
  return {
    name: 'bubblewrap',
    hasNetwork: network,
    async enter(start) {
      const id = randomUUID();
      const giveUp = async (cause: unknown) => {
        await stubs.release(id).catch(() => undefined);
        return explain(cause);
      };
      const policy = await stubs
        .hold(id, () => policyFor(ground, { programs: [start.file], spools: spools() }))
        .catch(giveUp);
      const excludes = await writeExcludes(policy, join(stateFolder, `${EXCLUDE}${id}`)).catch(giveUp);
      const plan = { policy, network, cwd: start.cwd, replaced: excludes };
      const args = [...bubblewrapArguments(plan), start.file, ...start.args];
      const release = async () => {
        await restoreLinks(policy);
        for (const { by } of excludes) await rm(by, { force: true });
        await stubs.release(id);
      };
      return { start: { ...start, file, args, env: insideEnvironment(start) }, release };
    },
  };
}

/** Needs no stubs: its rules are about names. */
function seatbelt(file: string, ground: SandboxGround, { network, spools }: SandboxOptions): Sandbox {
  return {
    name: 'sandbox-exec',
    hasNetwork: network,
    async enter(start) {
      const policy = await policyFor(ground, { programs: [start.file], spools: spools() }).catch(explain);
      const args = [...seatbeltArguments({ policy, network }), start.file, ...start.args];
      return { start: { ...start, file, args }, release: async () => undefined };
    },
  };
}

/** The folder for temporary files that ours names may be hidden. */
function insideEnvironment({ env }: ProcessStart): Readonly<Record<string, string>> {
  return { ...env, TMPDIR: '/tmp' };
}

/** What git reads inside in place of its own lists: with what stands for something missing, which it would try to clean. */
async function writeExcludes({ excludes, missing }: SandboxPolicy, name: string) {
  const written: { path: string; by: string }[] = [];
  for (const [index, { file, root }] of excludes.entries()) {
    const own = await readFile(file, 'utf8').catch(() => undefined);
    const names = missing.filter(({ path }) => dirname(path) === root).map(({ path }) => `/${basename(path)}/\n`);
    if (own === undefined || names.length === 0) continue;
    const by = `${name}-${index}`;
    await writeFile(by, `${own}\n${names.join('')}`, { mode: 0o600 });
    written.push({ path: file, by });
  }
  return written;
}

/** Nothing can be mounted on a link, so whoever replaced one finds that it did not last. */
async function restoreLinks({ links }: SandboxPolicy): Promise<void> {
  for (const { path, target } of links) {
    if ((await readlink(path).catch(() => undefined)) === target) continue;
    await rm(path, { recursive: true, force: true });
    await symlink(target, path);
  }
}

function explain(cause: unknown): never {
  const message = `The sandbox could not be made ready, so the command did not run: ${messageOf(cause)}`;
  throw new ToolFailure('sandbox', message, { cause });
}

const SHOWN_LINKS = 3;

function noticesOf({ hardLinks, isWhole, areNestedWhole }: Awaited<ReturnType<typeof scanForSandbox>>): string[] {
  const notices: string[] = [];
  if (hardLinks.length > 0) {
    const more = hardLinks.length > SHOWN_LINKS ? ` and ${hardLinks.length - SHOWN_LINKS} more` : '';
    notices.push(
      `Files with a further name outside of the workspace (hard links) can be changed by commands in the sandbox under both names: ${hardLinks.slice(0, SHOWN_LINKS).join(', ')}${more}.`,
    );
  }
  if (!isWhole)
    notices.push(
      'The workspace is too big to be looked through whole: hard links, secret files and repositories deep in it are not known to the sandbox.',
    );
  if (!areNestedWhole)
    notices.push(
      'There are too many repositories and settings deep in the workspace for the sandbox to protect them all.',
    );
  return notices;
}
