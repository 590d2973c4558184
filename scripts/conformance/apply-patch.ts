/** Plays the shared patch scenarios through the real `apply_patch` on real folders, and compares trees, bytes and modes. */
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { applyPatchTool } from '../../src/tools/apply-patch/tool.js';
import { ToolFailure, type ToolOutput } from '../../src/tools/types.js';
import { createWorkspace } from '../../src/tools/workspace.js';
import type { CaseResult, Group } from './group.js';

const manifest = z.array(z.object({ name: z.string(), outcome: z.enum(['applied', 'rejected']) }));
type Scenario = z.output<typeof manifest>[number];

export async function playApplyPatch(folder: string): Promise<Group> {
  const scenarios = manifest.parse(JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')));
  const results: CaseResult[] = [];
  for (const scenario of scenarios) results.push(await playScenario(scenario, join(folder, scenario.name)));
  return { name: 'apply-patch', results };
}

async function playScenario({ name, outcome }: Scenario, from: string): Promise<CaseResult> {
  // Of a folder of its own, so that what is written beside it is seen as well.
  const place = await mkdtemp(join(tmpdir(), 'chatcli-patch-'));
  try {
    const root = join(place, 'work');
    await mkdir(root);
    if (await exists(join(from, 'input'))) await cp(join(from, 'input'), root, { recursive: true, mode: 0 });
    const before = await treeOf(root);
    const patch = await readFile(join(from, 'patch.txt'), 'utf8');
    const output = await callTool(patch, root);
    const after = await treeOf(root);
    const beside = (await readdir(place)).filter((entry) => entry !== 'work');
    const wanted = await treeOf(join(from, 'expected'));
    return { id: name, ...judge({ outcome, output, before, after, wanted, beside }) };
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Path → mode and bytes. */
type Tree = ReadonlyMap<string, { readonly mode: number; readonly bytes: string }>;

type Seen = {
  readonly outcome: Scenario['outcome'];
  readonly output: ToolOutput;
  readonly before: Tree;
  readonly after: Tree;
  readonly wanted: Tree;
  readonly beside: readonly string[];
};

function judge({ outcome, output, before, after, wanted, beside }: Seen): Omit<CaseResult, 'id'> {
  const said = `${output.ok ? 'applied' : 'rejected'}: ${output.output.split('\n')[0]}`;
  const isUnchanged = isSameTree(before, after, true);
  if (beside.length > 0) return { verdict: 'corruption', detail: `left ${beside.join(', ')}` };
  if (!output.ok && !isUnchanged) return { verdict: 'corruption', detail: said };
  if (output.ok !== (outcome === 'applied')) return { verdict: output.ok ? 'corruption' : 'safe-miss', detail: said };
  if (!isSameTree(wanted, after, false)) return { verdict: output.ok ? 'corruption' : 'fail', detail: said };
  const unnamed = output.ok ? changedPaths(before, after).filter((path) => !output.output.includes(path)) : [];
  if (unnamed.length > 0) return { verdict: 'fail', detail: `does not name ${unnamed.join(', ')}` };
  const otherMode = [...after].find(([path, { mode }]) => before.has(path) && before.get(path)?.mode !== mode);
  return otherMode === undefined ? { verdict: 'pass-exact' } : { verdict: 'fail', detail: `mode of ${otherMode[0]}` };
}

function changedPaths(before: Tree, after: Tree): readonly string[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  return paths.filter((path) => before.get(path)?.bytes !== after.get(path)?.bytes);
}

function isSameTree(one: Tree, other: Tree, withModes: boolean): boolean {
  if (one.size !== other.size) return false;
  return [...one].every(([path, { bytes, mode }]) => {
    const found = other.get(path);
    return found?.bytes === bytes && (!withModes || found.mode === mode);
  });
}

async function treeOf(folder: string): Promise<Tree> {
  const tree = new Map<string, { mode: number; bytes: string }>();
  if (!(await exists(folder))) return tree;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    const { mode } = await lstat(path);
    tree.set(path.slice(folder.length + 1), { mode, bytes: await readFile(path, 'base64') });
  }
  return tree;
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

async function callTool(patch: string, root: string): Promise<ToolOutput> {
  const workspace = await createWorkspace({ root });
  try {
    return await applyPatchTool.run(applyPatchTool.schema.parse({ patch }), {
      workspace,
      signal: new AbortController().signal,
      now: () => performance.now(),
      update: () => undefined,
      childEnvironment: {},
      spoolDirectory: async () => root,
      mask: (text) => text,
    });
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return { ok: false, code: thrown.code, output: thrown.message };
    throw thrown;
  }
}
