/** Plays the shared edit cases through the real `edit_file` on a real folder, and compares bytes. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { editFileTool } from '../../src/tools/edit-file/tool.js';
import { type ToolContext, ToolFailure, type ToolOutput } from '../../src/tools/types.js';
import { createWorkspace, type Workspace } from '../../src/tools/workspace.js';
import type { CaseResult, Group } from './group.js';

const outcome = z.union([
  z.object({ ok: z.literal(true), file_b64: z.string() }),
  z.object({ ok: z.literal(false), error_kind: z.string() }),
]);
const editCase = z.object({
  id: z.string(),
  file_b64: z.string().nullable(),
  edits: z.array(z.object({ old: z.string(), new: z.string(), replace_all: z.boolean().optional() })),
  expect: outcome,
  also_ok: z.array(outcome).optional(),
  time_limit_ms: z.number().optional(),
});
type EditCase = z.output<typeof editCase>;
type Expected = z.output<typeof outcome>;

const FILE_NAME = 'file.txt';

export async function playEditCases(file: string): Promise<Group> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  const results: CaseResult[] = [];
  for (const line of lines) results.push(await playCase(editCase.parse(JSON.parse(line))));
  return { name: 'edit-cases', results };
}

type Seen = {
  readonly output: ToolOutput;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  readonly leftovers: readonly string[];
  readonly tookMs: number;
};

async function playCase(given: EditCase): Promise<CaseResult> {
  const folder = await mkdtemp(join(tmpdir(), 'chatcli-edit-'));
  try {
    const before = given.file_b64 === null ? null : Buffer.from(given.file_b64, 'base64');
    if (before !== null) await writeFile(join(folder, FILE_NAME), before);
    const workspace = await createWorkspace({ root: folder });
    const startedAt = performance.now();
    const output = await callTool(given, workspace);
    const tookMs = performance.now() - startedAt;
    const names = await readdir(folder);
    const after = names.includes(FILE_NAME) ? await readFile(join(folder, FILE_NAME)) : null;
    return judge(given, { output, before, after, leftovers: names.filter((name) => name !== FILE_NAME), tookMs });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function callTool({ edits }: EditCase, workspace: Workspace): Promise<ToolOutput> {
  const converted = edits.map((edit) => ({
    old_string: edit.old,
    new_string: edit.new,
    replace_all: edit.replace_all,
  }));
  const input = converted.length === 1 ? { path: FILE_NAME, ...converted[0] } : { path: FILE_NAME, edits: converted };
  try {
    return await editFileTool.run(editFileTool.schema.parse(input), contextFor(workspace));
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return { ok: false, code: thrown.code, output: thrown.message };
    throw thrown;
  }
}

function contextFor(workspace: Workspace): ToolContext {
  return {
    workspace,
    signal: new AbortController().signal,
    now: () => performance.now(),
    update: () => undefined,
    childEnvironment: {},
    spoolDirectory: async () => workspace.root,
    mask: (text) => text,
  };
}

function judge(given: EditCase, seen: Seen): CaseResult {
  const { id } = given;
  if (seen.leftovers.length > 0) return { id, verdict: 'corruption', detail: `left ${seen.leftovers.join(', ')}` };
  if (matches(given.expect, seen)) {
    const isSlow = given.time_limit_ms !== undefined && seen.tookMs > given.time_limit_ms;
    return isSlow
      ? { id, verdict: 'fail', detail: `took ${Math.round(seen.tookMs)} ms` }
      : { id, verdict: 'pass-exact' };
  }
  if (given.also_ok?.some((expected) => matches(expected, seen))) return { id, verdict: 'pass-also' };
  const isSafe = !seen.output.ok && sameBytes(seen.before, seen.after);
  return {
    id,
    verdict: isSafe ? 'safe-miss' : 'corruption',
    detail: `${seen.output.code ?? 'ok'}: ${show(seen.after)}`,
  };
}

function matches(expected: Expected, { output, before, after }: Seen): boolean {
  if (expected.ok) return output.ok && sameBytes(Buffer.from(expected.file_b64, 'base64'), after);
  return !output.ok && sameBytes(before, after) && output.code === expected.error_kind.replaceAll('_', '-');
}

function sameBytes(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}

function show(bytes: Buffer | null): string {
  return JSON.stringify(bytes?.toString('latin1').slice(0, 120) ?? null);
}
