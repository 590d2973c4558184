/** Starts programs of `test/fixtures` as processes: `file-child.ts`, which runs one task, and those that loop. */
import { execFileSync, type SpawnOptions, spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import type { ChildReport, ChildTask } from '../fixtures/file-child.js';

export type Child = {
  /** Runs a task to its end, in front of it the words of `prefix` (`prlimit …`). */
  readonly run: (task: ChildTask, prefix?: readonly string[], options?: SpawnOptions) => ChildReport;
  /** The command of a task, for a shell script that runs it. */
  readonly command: (task: ChildTask) => readonly string[];
  readonly dispose: () => Promise<void>;
};

/** Bundles the program into a folder that every user may read. */
export async function buildChild(): Promise<Child> {
  const folder = await mkdtemp(join(tmpdir(), 'chatcli-child-'));
  chmodSync(folder, 0o755);
  const program = join(folder, 'child.mjs');
  await bundle('test/fixtures/file-child.ts', program);
  let count = 0;
  function command(task: ChildTask): readonly string[] {
    const file = join(folder, `task-${++count}.json`);
    writeFileSync(file, JSON.stringify(task));
    return [process.execPath, program, file];
  }
  return {
    command,
    run(task, prefix = [], options = {}) {
      const [name = '', ...words] = [...prefix, ...command(task)];
      return JSON.parse(execFileSync(name, words, { ...options, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }));
    },
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Makes one plain program of a TypeScript file and all that it imports. */
export async function bundle(source: string, program: string): Promise<void> {
  await build({
    entryPoints: [resolve(source)],
    outfile: program,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    loader: { '.md': 'text' },
  });
}

/** How a shell script gets to mount things of its own; undefined where the system does not let us. */
export function waysToMount(): readonly string[] | undefined {
  const ways = [
    ['unshare', '-m'],
    ['unshare', '-Urm'],
  ];
  const test = ['sh', '-c', 'mount -t tmpfs none /tmp'];
  return ways.find(([name = '', ...words]) => spawnSync(name, [...words, ...test]).status === 0);
}
