/** A repository, a home and a neighbour of both in a temp folder, and the shell tool in a real sandbox over them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openSandbox, type SandboxOptions } from '../../src/tools/shell/sandbox.js';
import type { Sandbox } from '../../src/tools/shell/sandbox-types.js';
import { createShellTool } from '../../src/tools/shell/tool.js';
import type { ToolContext, ToolOutput } from '../../src/tools/types.js';
import { createWorkspace } from '../../src/tools/workspace.js';
import { tempFolder } from './bench.js';

export type SandboxBench = {
  readonly folder: string;
  readonly root: string;
  readonly home: string;
  readonly settings: string;
  readonly outside: string;
  readonly sandbox: Sandbox;
  readonly notices: readonly string[];
  /** Runs a command in the sandbox, by the shell tool. */
  readonly run: (
    command: string,
    more?: { readonly timeout_ms?: number; readonly cwd?: string },
  ) => Promise<ToolOutput>;
  /** Everything on the disk but what git may change for a commit: path → content, link or mode. */
  readonly disk: () => Readonly<Record<string, string>>;
};

export type BenchOptions = Partial<Pick<SandboxOptions, 'network' | 'readable' | 'programs'>> & {
  /** Path below the temp folder → content, before the sandbox is opened. */
  readonly files?: Readonly<Record<string, string>>;
  /** Makes more of the place, before the sandbox is opened. */
  readonly prepare?: (folder: string) => void;
  readonly root?: string;
  readonly path?: string;
};

export const IDENTITY = '[user]\n\tname = N\n\temail = n@example.com\n';

export function git(cwd: string, ...args: readonly string[]): string {
  const env = { PATH: process.env.PATH ?? '', HOME: cwd, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
  const identity = ['-c', 'user.name=N', '-c', 'user.email=n@example.com', '-c', 'init.defaultBranch=main'];
  return execFileSync('git', [...identity, '-c', 'protocol.file.allow=always', ...args], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

export async function sandboxBench(options: BenchOptions = {}): Promise<SandboxBench> {
  const folder = await tempFolder();
  const [root, home, outside] = [join(folder, options.root ?? 'w'), join(folder, 'home'), join(folder, 'outside')];
  const settings = join(home, '.config/chatcli');
  for (const path of [root, settings, outside]) mkdirSync(path, { recursive: true });
  const files = { 'home/.gitconfig': IDENTITY, 'outside/f': 'outside\n', 'home/notes': 'mine\n', ...options.files };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  options.prepare?.(folder);
  const workspace = await createWorkspace({ root });
  const childEnvironment = { PATH: options.path?.replaceAll('FOLDER', folder) ?? process.env.PATH ?? '', HOME: home };
  const spool = join(settings, 'state/spool');
  mkdirSync(spool, { recursive: true });
  const opened = await openSandbox({
    roots: workspace.roots,
    childEnvironment,
    ownFolders: [settings, join(settings, 'state')],
    stateFolder: join(settings, 'state'),
    network: options.network ?? false,
    readable: (options.readable ?? []).map((path) => join(folder, path)),
    spools: () => [spool],
    ...(options.programs && { programs: options.programs }),
  });
  if (opened.sandbox === undefined) throw new Error(`${opened.problem}: ${opened.hint}`);
  const { sandbox, notices } = opened;
  const tool = createShellTool({ sandbox });
  const context: ToolContext = {
    workspace,
    signal: new AbortController().signal,
    now: () => 0,
    update: () => undefined,
    childEnvironment,
    spoolDirectory: async () => spool,
    mask: (text) => text,
  };
  return {
    folder,
    root,
    home,
    settings,
    outside,
    sandbox,
    notices,
    run: (command, more = {}) => tool.run(tool.schema.parse({ command, ...more }), context),
    disk: () => treeOf(folder),
  };
}

/** What a commit changes. */
const OF_COMMITS = /\/\.git\/(?:.*\/)?(?:objects|refs|logs|index|HEAD|ORIG_HEAD|COMMIT_EDITMSG)(?:\/|$)|sandbox-stubs/;

function treeOf(folder: string): Readonly<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (OF_COMMITS.test(path)) continue;
    if (entry.isSymbolicLink()) tree[path] = `→ ${readlinkSync(path)}`;
    else tree[path] = entry.isFile() ? readFileSync(path, 'latin1') : (statSync(path).mode & 0o777).toString(8);
  }
  return tree;
}
