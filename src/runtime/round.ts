/**
 * Runs the calls of one reply: reads side by side, writes to different paths too, the rest one after another, in
 * call order. Events come as calls finish; results come back in call order. Once begun, each call ends with a result.
 */
import type { ToolCall, ToolResult } from '../kernel/types.js';
import { describeSubjects, type Executed, executeCall, type PreparedCall, prepareCall } from '../tools/execute.js';
import type { RunContext } from './types.js';

/** More side by side gains little on local files and makes the timeline hard to follow. */
const SIDE_BY_SIDE = 4;

export async function runRound(calls: readonly ToolCall[], ctx: RunContext): Promise<readonly ToolResult[]> {
  const prepared = calls.map((call) => prepareCall(call, ctx));
  const results: ToolResult[] = [];
  for (const wave of await waves(prepared, ctx)) {
    results.push(...(await inParallel(wave, SIDE_BY_SIDE, (call) => runCall(call, ctx))));
  }
  return results;
}

/** Splits the calls into groups that may run side by side, in call order. */
async function waves(calls: readonly PreparedCall[], ctx: RunContext): Promise<readonly (readonly PreparedCall[])[]> {
  const groups: PreparedCall[][] = [];
  let kind: 'parallel' | 'path' | 'serial' = 'serial';
  let paths = new Set<string>();
  for (const call of calls) {
    const concurrency = call.tool?.concurrency ?? 'parallel';
    const own = concurrency === 'path' ? await realPaths(call, ctx) : [];
    const joins = concurrency === kind && concurrency !== 'serial' && !own.some((path) => paths.has(path));
    const group = joins ? groups.at(-1) : undefined;
    if (group !== undefined) {
      group.push(call);
    } else {
      groups.push([call]);
      kind = concurrency;
      paths = new Set();
    }
    for (const path of own) paths.add(path);
  }
  return groups;
}

async function realPaths(call: PreparedCall, ctx: RunContext): Promise<readonly string[]> {
  const paths = call.subjects.flatMap((subject) => (subject.kind === 'path' ? [subject.path] : []));
  return Promise.all(
    paths.map((path) =>
      ctx.toolContext.workspace.locate(path).then(
        (location) => location.path,
        // A path that leads nowhere is the tool's to refuse; here it only has to be told from other paths.
        () => path,
      ),
    ),
  );
}

async function runCall(prepared: PreparedCall, ctx: RunContext): Promise<ToolResult> {
  const { call } = prepared;
  const executed = await executeCall(prepared, {
    context: {
      ...ctx.toolContext,
      signal: ctx.signal,
      update: (text) => ctx.emit({ type: 'tool-update', callId: call.id, text }),
      ...(ctx.delegate && { delegate: ctx.delegate }),
    },
    decide: ctx.decide,
    approve: (question) => ctx.approve(question, call.id, ctx.signal),
    emit: ctx.emit,
  });
  enter(executed, prepared, ctx);
  const { ok, output, code, denied } = executed;
  return { callId: call.id, ok, output, ...(code !== undefined && { code }), ...(denied && { denied: true }) };
}

/** Writes a call into the ledger of the whole tree. */
function enter(executed: Executed, { call, tool, subjects }: PreparedCall, ctx: RunContext): void {
  if (tool === undefined) return;
  const { permission } = tool;
  if (executed.denied !== undefined) {
    const subject = describeSubjects(subjects) || call.arguments;
    ctx.ledger.deny({ callId: call.id, tool: call.name, permission, subject, ...executed.denied });
    return;
  }
  if (executed.ran)
    ctx.ledger.record({ permission, ok: executed.ok, touched: executed.touched, command: executed.command });
}

/** Maps with at most `width` at work, results in order. `work` must not throw. */
async function inParallel<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index];
      if (item !== undefined) results[index] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}
