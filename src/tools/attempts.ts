/** Runs an allowed tool: how long one attempt may take, and what is tried again. The whole may take all attempts and waits. */
import { messageOf } from '../errors.js';
import { ABORT_GRACE_MS, untilAborted } from './abort.js';
import { checkedOutput } from './check-output.js';
import { LONGEST_TIMER_MS } from './timers.js';
import { type Tool, type ToolContext, ToolFailure, type ToolOutput } from './types.js';

/** How often and how long a tool may try. */
export type AttemptPolicy = {
  /**
   * Per attempt, from the start of the tool's `run`; 0: none. Tools with `ownTimeout` are left alone, and so are those
   * of class meta unless they say `ownTimeout: false`. 15,000 by default.
   */
  readonly timeoutMs: number;
  /** Tries after the first, of failures that say they are retryable; a timeout is so only for class read. 1 by default. */
  readonly retries: number;
  /** Wait before another try. 200 by default. */
  readonly backoffMs: number;
  /** Time between two `tool-heartbeat` events while tools run; 0: none. 0 by default. */
  readonly heartbeatMs: number;
};

export const DEFAULT_ATTEMPTS: AttemptPolicy = { timeoutMs: 15_000, retries: 1, backoffMs: 200, heartbeatMs: 0 };

export type Attempted = {
  /** That of the last attempt. */
  readonly output: ToolOutput;
  /** At least 1. */
  readonly attempts: number;
};

/**
 * Runs a tool until it succeeds, fails for good, or has used its attempts. Never throws: a throw of the tool is a
 * failed output, a timeout one with `code: 'timeout'`. An abort of `context.signal` reaches the attempt under way, whose
 * end is waited for within its time, or for `ABORT_GRACE_MS` where it has none; it ends a wait between two attempts at
 * once.
 */
export async function runAttempts(
  tool: Tool,
  input: unknown,
  context: ToolContext,
  policy: AttemptPolicy,
): Promise<Attempted> {
  const limitMs = limitOf(tool, policy);
  for (let attempts = 1; ; attempts += 1) {
    const output = await attempt(tool, input, context, limitMs);
    const goesOn =
      !output.ok &&
      output.retryable === true &&
      attempts <= policy.retries &&
      (await pause(policy.backoffMs, context.signal));
    if (!goesOn) return { output: withCount(output, attempts), attempts };
  }
}

/** Undefined when only the tool itself, or an abort, ends an attempt. */
function limitOf({ ownTimeout, permission }: Tool, { timeoutMs }: AttemptPolicy): number | undefined {
  // What a meta tool waits for (other workers, a person) has limits of its own, or none on purpose.
  const isUnbound = ownTimeout ?? permission === 'meta';
  return isUnbound || timeoutMs <= 0 || timeoutMs > LONGEST_TIMER_MS ? undefined : timeoutMs;
}

function attempt(tool: Tool, input: unknown, context: ToolContext, limitMs: number | undefined): Promise<ToolOutput> {
  const controller = new AbortController();
  const follow = () => controller.abort(context.signal.reason);
  return new Promise((resolve) => {
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    // The first end counts: what comes of an attempt after its time is nobody's any more.
    const end = (output: ToolOutput): void => {
      isOver = true;
      clearTimeout(timer);
      context.signal.removeEventListener('abort', follow);
      resolve(output);
    };
    if (limitMs !== undefined) {
      timer = setTimeout(() => {
        const output = timedOut(tool, limitMs);
        end(output);
        controller.abort(new ToolFailure('timeout', output.output));
      }, limitMs);
    }
    if (context.signal.aborted) follow();
    context.signal.addEventListener('abort', follow, { once: true });
    const update = (text: string): void => {
      if (!isOver) context.update(String(text));
    };
    const workers: Promise<unknown>[] = [];
    const delegate: ToolContext['delegate'] = (tasks) => {
      if (isOver || context.delegate === undefined) throw new ToolFailure('interrupted', 'Not delegated: interrupted.');
      const results = context.delegate(tasks);
      workers.push(results);
      return results;
    };
    const own = { ...context, signal: controller.signal, update, ...(context.delegate && { delegate }) };
    const running = runOnce(tool, input, own);
    void (limitMs === undefined ? unlessDeaf(running, context.signal, workers) : running).then(end);
  });
}

/**
 * The end of an attempt that nothing but an abort limits; a tool that does not listen to that is left behind. Workers
 * end by themselves, so whoever waits for them is given the time that they take.
 */
async function unlessDeaf(
  running: Promise<ToolOutput>,
  signal: AbortSignal,
  workers: readonly Promise<unknown>[],
): Promise<ToolOutput> {
  const ended = () => untilAborted(signal, running, ABORT_GRACE_MS);
  try {
    return await ended().catch(() => Promise.allSettled(workers).then(ended));
  } catch {
    return { ok: false, code: 'interrupted', output: 'Interrupted, but it did not stop: it may still be at work.' };
  }
}

async function runOnce(tool: Tool, input: unknown, context: ToolContext): Promise<ToolOutput> {
  try {
    return checkedOutput(tool.name, await tool.run(input, context));
  } catch (thrown) {
    return failureOf(thrown, tool.name, context.signal);
  }
}

/** The output that a throw of a tool comes to. */
export function failureOf(thrown: unknown, toolName: string, signal: AbortSignal): ToolOutput {
  if (isToolFailure(thrown)) return { ok: false, code: String(thrown.code), output: messageOf(thrown) };
  if (signal.aborted) return { ok: false, code: 'interrupted', output: 'Stopped: interrupted.' };
  return { ok: false, code: 'tool-error', output: `${toolName} failed: ${messageOf(thrown)}` };
}

/** Never throws, as `instanceof` does for some proxies. */
function isToolFailure(thrown: unknown): thrown is ToolFailure {
  try {
    return thrown instanceof ToolFailure;
  } catch {
    return false;
  }
}

function timedOut({ name, permission }: Tool, limitMs: number): ToolOutput {
  const limit = limitMs < 1000 ? `${limitMs} ms` : `${limitMs / 1000} s`;
  const isRead = permission === 'read';
  const advice = isRead ? 'Ask for less at once.' : 'Part of it may be done: look before you call it again.';
  return {
    ok: false,
    code: 'timeout',
    output: `${name} did not end within its time limit of ${limit} and was stopped. ${advice}`,
    // What only reads can be run again; of anything else nobody knows how far it got.
    retryable: isRead,
  };
}

/** Waits `ms`: true. False when the signal aborts before, then at once. */
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (isWaited: boolean): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      resolve(isWaited);
    };
    const stop = () => end(false);
    const timer = setTimeout(() => end(true), Math.min(ms, LONGEST_TIMER_MS));
    signal.addEventListener('abort', stop, { once: true });
  });
}

function withCount(output: ToolOutput, attempts: number): ToolOutput {
  if (output.ok || attempts === 1) return output;
  return { ...output, output: `${output.output} (Tried ${attempts} times.)` };
}
