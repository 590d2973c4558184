/**
 * Runs the calls of one reply: reads side by side, writes to different paths too, the rest one after another, in
 * call order. Events come as calls finish; results come back in call order. Once begun, each call ends with a result.
 */
import { messageOf } from '../errors.js';
import type { ToolCall, ToolResult } from '../kernel/types.js';
import { ABORT_GRACE_MS, untilAborted } from '../tools/abort.js';
import { DEFAULT_ATTEMPTS } from '../tools/attempts.js';
import { describeSubjects } from '../tools/describe-subjects.js';
import { type Executed, executeCall, type PreparedCall, prepareCall, RESULT_LIMIT_BYTES } from '../tools/execute.js';
import { LONGEST_TIMER_MS } from '../tools/timers.js';
import type { Effect, ToolOutput } from '../tools/types.js';
import {
  applyEffects,
  DEFAULT_EFFECTS,
  describeRefused,
  type EffectPolicy,
  SET_STATE,
  sortEffects,
} from './effects.js';
import { runExecutor } from './round-executor.js';
import type { RunContext } from './types.js';

/** More side by side gains little on local files and makes the timeline hard to follow. */
const SIDE_BY_SIDE = 4;

/** What the results of one turn may have together: many calls share it alike. */
const TURN_LIMIT_BYTES = 200_000;

/** What the calls of one round share. */
type Round = {
  readonly ctx: RunContext;
  /** Of each result. */
  readonly limitBytes: number;
  /** Ids of the calls between their start and their end. */
  readonly underWay: Set<string>;
  /** What the calls that ran asked for, by call id. */
  readonly effects: Map<string, readonly Effect[]>;
};

/**
 * One result for each call, in call order, by our own waves or by the library user's executor. An abort keeps calls
 * from beginning and waits for those that have begun.
 */
export async function runRound(calls: readonly ToolCall[], ctx: RunContext): Promise<readonly ToolResult[]> {
  const prepared: PreparedCall[] = [];
  // One by one: each listens to the signal meanwhile, and Node warns of many listeners.
  for (const call of calls) prepared.push(await prepareCall(call, ctx, ctx.signal));
  const limitBytes = Math.min(RESULT_LIMIT_BYTES, Math.floor(TURN_LIMIT_BYTES / calls.length));
  const round: Round = { ctx, limitBytes, underWay: new Set(), effects: new Map() };
  const { roundExecutor: executor } = ctx.options;
  const stopHeartbeat = startHeartbeat(round);
  try {
    const runOne = (call: PreparedCall) => runCall(call, round);
    const results = await (executor === undefined
      ? runInWaves(prepared, runOne, ctx)
      : runExecutor({ executor, prepared, runCall: runOne, signal: ctx.signal }));
    await settleEffects(calls, round);
    return results;
  } finally {
    stopHeartbeat();
  }
}

/** Says at a steady beat which calls are under way, until the function that it gives back is called. */
function startHeartbeat({ ctx, underWay }: Round): () => void {
  const { heartbeatMs } = ctx.options.attempts ?? DEFAULT_ATTEMPTS;
  if (heartbeatMs <= 0) return () => undefined;
  const beat = () => {
    if (underWay.size > 0) ctx.emit({ type: 'tool-heartbeat', callIds: [...underWay] });
  };
  const timer = setInterval(beat, Math.min(heartbeatMs, LONGEST_TIMER_MS));
  return () => clearInterval(timer);
}

async function runInWaves(
  prepared: readonly PreparedCall[],
  runOne: (call: PreparedCall) => Promise<ToolResult>,
  ctx: RunContext,
): Promise<readonly ToolResult[]> {
  const results: ToolResult[] = [];
  for (const wave of await waves(prepared, ctx)) results.push(...(await inParallel(wave, SIDE_BY_SIDE, runOne)));
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

async function runCall(prepared: PreparedCall, { ctx, limitBytes, underWay, effects }: Round): Promise<ToolResult> {
  const { call, tool } = prepared;
  const { askUser, options } = ctx;
  const { attempts } = options;
  underWay.add(call.id);
  const executed = await executeCall(prepared, {
    context: {
      ...ctx.toolContext,
      callId: call.id,
      signal: ctx.signal,
      update: (text) => ctx.emit({ type: 'tool-update', callId: call.id, text }),
      ...(tool && {
        judge: (subject) => ctx.decide({ tool: call.name, permission: tool.permission, subjects: [subject] }).kind,
      }),
      ...(askUser && { askUser: (question, signal) => askUser(question, call.id, signal) }),
      keepPlan: ctx.plan.keep,
      ...(ctx.delegate && { delegate: ctx.delegate }),
    },
    decide: ctx.decide,
    approve: (question, again) => ctx.approve(question, call.id, ctx.signal, again),
    emit: ctx.emit,
    limitBytes,
    ...(attempts && { attempts }),
    review: (output) => withRefusedEffects(output, call, ctx),
  });
  underWay.delete(call.id);
  // What did not come to be asks for nothing.
  if (executed.ok && executed.effects !== undefined) effects.set(call.id, executed.effects);
  enter(executed, prepared, ctx);
  const { ok, output, code, denied } = executed;
  return { callId: call.id, ok, output, ...(code !== undefined && { code }), ...(denied && { denied: true }) };
}

/** Without a shared state there is nothing that could be set. */
function effectPolicy({ options, toolContext }: RunContext): EffectPolicy {
  const policy = options.effects?.policy ?? DEFAULT_EFFECTS;
  return toolContext.state === undefined ? { ...policy, deny: [...policy.deny, SET_STATE] } : policy;
}

/** Tells the model, and people, which effects of a call will not come about. */
function withRefusedEffects(output: ToolOutput, { name }: ToolCall, ctx: RunContext): ToolOutput {
  if (!output.ok) return output;
  const { refused } = sortEffects(output.effects ?? [], effectPolicy(ctx));
  if (refused.length === 0) return output;
  const line = describeRefused(refused);
  ctx.emit({ type: 'notice', level: 'warning', code: 'effect-refused', text: `${name}: ${line}` });
  return { ...output, output: output.output === '' ? line : `${output.output}\n${line}` };
}

/** Lets the effects of a round come about, in call order, so that the tools of the next one see them. */
async function settleEffects(calls: readonly ToolCall[], { ctx, effects }: Round): Promise<void> {
  const policy = effectPolicy(ctx);
  let graceMs = ABORT_GRACE_MS;
  for (const { id, name } of calls) {
    const { handedOn } = applyEffects(effects.get(id) ?? [], policy, ctx.toolContext.state ?? new Map());
    for (const effect of handedOn) {
      try {
        await untilAborted(ctx.signal, ctx.options.effects?.onEffect?.(effect, id), graceMs);
      } catch (thrown) {
        if (thrown === ctx.signal.reason) graceMs = 0;
        const text = `The effect ${effect.type} of ${name} failed: ${messageOf(thrown)}`;
        ctx.emit({ type: 'notice', level: 'warning', code: 'effect-failed', text });
      }
    }
  }
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
  // A look around does not make up for an action that was refused.
  const kind = executed.onlyReads === true ? 'read' : permission;
  if (executed.ran)
    ctx.ledger.record({ permission: kind, ok: executed.ok, touched: executed.touched, command: executed.command });
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
