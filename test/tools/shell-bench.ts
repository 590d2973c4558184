/** A workspace to run commands in, and ways to see what became of their processes. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { childEnvironment, createMasker } from '../../src/permissions/secrets.js';
import { type BackgroundCommands, createBackgroundCommands } from '../../src/tools/shell/background.js';
import { createShellOutputTool, createShellStopTool } from '../../src/tools/shell/background-tools.js';
import { createShellTool, type ShellParts } from '../../src/tools/shell/tool.js';
import { type Tool, type ToolContext, ToolFailure, type ToolOutput } from '../../src/tools/types.js';
import { createWorkspace } from '../../src/tools/workspace.js';
import { tempFolder } from './bench.js';

export const KEY = 'sk-very-secret-0123456789';

export type ShellInput = {
  readonly command: string;
  readonly cwd?: string;
  readonly timeout_ms?: number;
  readonly background?: boolean;
};

export type ShellPlace = {
  /** Holds `root` and `spool`. */
  readonly folder: string;
  readonly root: string;
  readonly spool: string;
  /** What was shown while commands ran. */
  readonly updates: string[];
  readonly background: BackgroundCommands;
  readonly run: (input: ShellInput | string, more?: Partial<ToolContext>) => Promise<ToolOutput>;
  readonly output: (input?: { id?: string; wait_ms?: number }) => Promise<ToolOutput>;
  readonly stop: (id: string) => Promise<ToolOutput>;
};

export async function shellPlace(parts: ShellParts = {}): Promise<ShellPlace> {
  const folder = await tempFolder();
  const [root, spool, updates] = [join(folder, 'ws'), join(folder, 'spool'), [] as string[]];
  mkdirSync(join(root, 'sub'), { recursive: true });
  const context: ToolContext = {
    workspace: await createWorkspace({ root }),
    signal: new AbortController().signal,
    now: Date.now,
    update: (text) => void updates.push(text),
    childEnvironment: childEnvironment({ ...process.env, OPENAI_API_KEY: KEY }),
    spoolDirectory: async () => {
      mkdirSync(spool, { recursive: true, mode: 0o700 });
      return spool;
    },
    mask: createMasker([KEY]).mask,
  };
  const background = parts.background ?? createBackgroundCommands(parts.groups);
  onTestFinished(async () => void (await background.stopAll()));
  const shell = createShellTool({ ...parts, background });
  const call = async (tool: Tool, input: object, more: Partial<ToolContext> = {}) => {
    try {
      return await tool.run(tool.schema.parse(input), { ...context, ...more });
    } catch (thrown) {
      if (thrown instanceof ToolFailure) return { ok: false, code: thrown.code, output: thrown.message };
      throw thrown;
    }
  };
  return {
    folder,
    root,
    spool,
    updates,
    background,
    run: (input, more) => call(shell, typeof input === 'string' ? { command: input } : input, more),
    output: (input = {}) => call(createShellOutputTool(background), input),
    stop: (id) => call(createShellStopTool(background), { id }),
  };
}

/** A sleep of a length nobody else uses, so that it can be looked for. */
export function oddSleep(): { readonly command: string; readonly alive: () => number } {
  const seconds = `300.${Math.floor(Math.random() * 1e9)}`;
  const alive = () => readdirSync('/proc').filter((pid) => isSleep(pid, seconds)).length;
  return { command: `sleep ${seconds}`, alive };
}

function isSleep(pid: string, seconds: string): boolean {
  if (!/^\d+$/.test(pid)) return false;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1') === `sleep\0${seconds}\0`;
  } catch {
    return false;
  }
}

/** Waits until `condition` holds. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, limitMs = 10_000) {
  const deadline = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`It did not come to this within ${limitMs} ms: ${what}`);
    await sleep(20);
  }
}
