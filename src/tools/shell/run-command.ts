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
  readonly captured: Captured;
  /** Files that it changed, relative to the root, as far as somebody looks. */
  readonly touched: readonly string[];
  /** What that look has to say. */
  readonly notes: readonly string[];
};

/** @throws {ToolFailure} when the shell cannot be started. */
export async function runCommand(run: CommandRun, context: ToolContext): Promise<CommandEnd> {
  const { command, isRead } = run;
  const runIt = () => enterAndRun(run, context);
  const changes = isRead && isReadOnlyCommand(command) ? undefined : context.changes;
  if (changes === undefined) return { ...(await runIt()), touched: [], notes: [] };
  const { result, touched, notes } = await changes.aroundCommand(command, runIt);
  return { ...result, touched, notes };
}

async function enterAndRun({ start, timeoutMs, sandbox, groups }: CommandRun, context: ToolContext) {
  const entered = await enter(sandbox, start);
  try {
    const capture = createCapture(context);
    const result = await runProcess({
      ...entered.start,
      signal: context.signal,
      timeoutMs,
      maxBytes: 0,
      onOutput: capture.take,
      ...(groups !== undefined && { groups }),
    }).catch(explainStart);
    return { result, captured: await capture.finish() };
  } finally {
    await entered.release();
  }
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
