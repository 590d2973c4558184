/** Runs one command to its end: in the sandbox if there is one, with a look at the files around it, its output taken in. */
import { isReadOnlyCommand } from '../../permissions/shell-table.js';
import {
  type ProcessGroups,
  type ProcessResult,
  type ProcessStart,
  ProcessStartError,
  runProcess,
} from '../../process.js';
import { type ToolContext, ToolFailure } from '../types.js';
import { type Captured, createCapture } from './capture.js';
import type { Sandbox } from './sandbox-types.js';
import { type StopReason, watchCommand } from './watch-command.js';

export type CommandRun = {
  readonly command: string;
  readonly start: ProcessStart;
  readonly timeoutMs: number;
  /** Whether the read-only table knows what the words of its shell mean. */
  readonly isRead: boolean;
  readonly sandbox?: Sandbox | undefined;
  readonly groups?: ProcessGroups | undefined;
};

export type CommandEnd = {
  readonly result: ProcessResult;
  /** Why we stopped it, where neither time nor a person did. */
  readonly stopped: StopReason | undefined;
  readonly captured: Captured;
  /** The last line that had no end when the command ended. */
  readonly openLine: string;
  /** Files that it changed, relative to the root, as far as somebody looks. */
  readonly touched: readonly string[];
  /** What that look has to say. */
  readonly notes: readonly string[];
};

/** @throws {ToolFailure} when the shell cannot be started. */
export async function runCommand(run: CommandRun, context: ToolContext): Promise<CommandEnd> {
  const { result, touched, notes } = await aroundCommand(run, context, () => enterAndRun(run, context));
  return { ...result, touched, notes };
}

/** Runs with a look at the files before and after, unless the command is one that only reads or nobody looks. */
export async function aroundCommand<Result>(
  { command, isRead }: Pick<CommandRun, 'command' | 'isRead'>,
  { changes }: ToolContext,
  run: () => Promise<Result>,
  goesOn?: (result: Result) => Promise<unknown> | undefined,
): Promise<{ readonly result: Result; readonly touched: readonly string[]; readonly notes: readonly string[] }> {
  if (changes !== undefined && !(isRead && isReadOnlyCommand(command)))
    return changes.aroundCommand(command, run, goesOn);
  return { result: await run(), touched: [], notes: [] };
}

async function enterAndRun({ start, timeoutMs, sandbox, groups }: CommandRun, context: ToolContext) {
  const entered = await enter(sandbox, start);
  const capture = createCapture(context);
  const stopper = createStopper(context.signal);
  let group: number | undefined;
  const watch = watchCommand({ group: () => group, openLine: capture.openLine, stop: stopper.stop });
  try {
    const result = await runProcess({
      ...entered.start,
      signal: stopper.signal,
      timeoutMs,
      maxBytes: 0,
      onStart: (id) => {
        group = id;
      },
      onOutput: (text, stream) => {
        watch.seen(text);
        return capture.take(text, stream);
      },
      ...(groups !== undefined && { groups }),
    }).catch(explainStart);
    const openLine = capture.openLine();
    return { result, openLine, stopped: stopper.reason(), captured: await capture.finish() };
  } finally {
    watch.end();
    stopper.end();
    await entered.release();
  }
}

/** Aborts with `outer`, or for a reason of our own. */
function createStopper(outer: AbortSignal) {
  const controller = new AbortController();
  let reason: StopReason | undefined;
  const follow = () => controller.abort();
  if (outer.aborted) follow();
  outer.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    stop: (why: StopReason) => {
      if (controller.signal.aborted) return;
      reason = why;
      controller.abort();
    },
    reason: () => reason,
    end: () => outer.removeEventListener('abort', follow),
  };
}

/** The start as it is, or inside the sandbox. `release` is for when the program has ended, or could not be started. */
export async function enter(
  sandbox: Sandbox | undefined,
  start: ProcessStart,
): Promise<{ readonly start: ProcessStart; readonly release: () => Promise<void> }> {
  return sandbox === undefined ? { start, release: async () => undefined } : sandbox.enter(start);
}

/** @throws {ToolFailure} for a program that could not be started. */
export function explainStart(thrown: unknown): never {
  if (!(thrown instanceof ProcessStartError)) throw thrown;
  const advice = thrown.code === 'E2BIG' ? ' The command is too long: write it to a file and run that.' : '';
  throw new ToolFailure('cannot-start', `${thrown.message}.${advice}`, { cause: thrown });
}
