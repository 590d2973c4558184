/** A temp folder with files, the gate to it, and a way to call a tool as the harness does. */
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Tool, type ToolContext, ToolFailure, type ToolOutput } from '../../src/tools/types.js';
import { createWorkspace, type Workspace } from '../../src/tools/workspace.js';

export type Bench = {
  readonly root: string;
  readonly workspace: Workspace;
  readonly context: ToolContext;
  readonly path: (name: string) => string;
  readonly put: (name: string, content: string | Uint8Array) => Promise<void>;
  readonly get: (name: string) => Promise<Buffer>;
  readonly text: (name: string) => Promise<string>;
  readonly call: (tool: Tool, input: Record<string, unknown>) => Promise<ToolOutput>;
};

/** A folder that is gone after the test. `outside` is a neighbour of it. */
export async function tempFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'chatcli-test-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function bench(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  options: { readonly signal?: AbortSignal } = {},
): Promise<Bench> {
  const root = join(await tempFolder(), 'w');
  await mkdir(root);
  const path = (name: string) => join(root, name);
  async function put(name: string, content: string | Uint8Array): Promise<void> {
    await mkdir(dirname(path(name)), { recursive: true });
    await writeFile(path(name), content);
  }
  for (const [name, content] of Object.entries(files)) await put(name, content);
  const workspace = await createWorkspace({ root });
  const context: ToolContext = {
    workspace,
    signal: options.signal ?? new AbortController().signal,
    now: () => 0,
    update: () => undefined,
    childEnvironment: {},
    spoolDirectory: async () => root,
    mask: (text) => text,
  };
  const call = async (tool: Tool, input: Record<string, unknown>): Promise<ToolOutput> => {
    try {
      return await tool.run(tool.schema.parse(input), context);
    } catch (thrown) {
      if (thrown instanceof ToolFailure) return { ok: false, code: thrown.code, output: thrown.message };
      throw thrown;
    }
  };
  return {
    root,
    workspace,
    context,
    path,
    put,
    get: (name) => readFile(path(name)),
    text: (name) => readFile(path(name), 'utf8'),
    call,
  };
}

export async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return thrown.code;
    throw thrown;
  }
  return 'no failure';
}
