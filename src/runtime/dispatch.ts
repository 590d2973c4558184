/**
 * Runs workers: each its own context, loop, limits and history, between one `worker-start` and one `worker-end`.
 * One at a time, in task order; one failure does not sink the rest.
 */
import { messageOf } from '../errors.js';
import { NO_USAGE } from '../kernel/step.js';
import type { Outcome } from '../kernel/types.js';
import type { DelegatedResult, DelegatedTask } from '../tools/types.js';
import { catalogue } from '../workers/select.js';
import type { Worker } from '../workers/types.js';
import { createRunContext, type RunTree } from './context.js';
import { type Deadline, withTimeLimit } from './deadline.js';
import type { RunContext } from './types.js';

export type WorkerJob = {
  readonly worker: Worker;
  readonly task: string;
  readonly index: number;
  readonly total: number;
  readonly signal: AbortSignal;
  readonly parentRunId?: string;
  /** Made anew by default. */
  readonly runId?: string;
};

type WorkerStatus = DelegatedResult['status'];

/** Runs one worker within its own time limit. Never throws: a crash is a failed outcome of this worker only. */
export function runWorker(tree: RunTree, job: WorkerJob): Promise<Outcome> {
  const { timeoutMs } = tree.limitsOf(job.worker);
  const limit = { timeoutMs, whose: `The worker ${job.worker.name}`, now: tree.now, signal: job.signal };
  return withTimeLimit(limit, (signal, deadline) => runWithin(tree, job, signal, deadline));
}

async function runWithin(
  tree: RunTree,
  { worker, task, index, total, parentRunId, runId }: WorkerJob,
  signal: AbortSignal,
  deadline: Deadline | undefined,
): Promise<Outcome> {
  const startedAt = tree.now();
  const mayDelegate = tree.mayDelegate && parentRunId === undefined;
  const ctx: RunContext = createRunContext(tree, worker, {
    signal,
    ...(runId !== undefined && { runId }),
    ...(parentRunId !== undefined && { parentRunId }),
    ...(mayDelegate && {
      delegate: async (tasks) => {
        // Time that a lead spends waiting for its workers is theirs, not its own.
        deadline?.pause();
        try {
          return await delegateTasks(tree, tasks, { signal, parentRunId: ctx.runId });
        } finally {
          deadline?.resume();
        }
      },
    }),
  });
  ctx.emit({ type: 'worker-start', index, total, task });
  const outcome = await attempt(tree, task, withPausedQuestions(ctx, deadline));
  ctx.emit({
    type: 'worker-end',
    index,
    total,
    status: statusOf(outcome),
    durationMs: tree.now() - startedAt,
    turns: outcome.turns,
    ...(outcome.error && { error: outcome.error }),
  });
  return outcome;
}

/** Nor is the time that a person takes to answer. */
function withPausedQuestions(ctx: RunContext, deadline: Deadline | undefined): RunContext {
  const approve: RunContext['approve'] = async (...question) => {
    deadline?.pause();
    try {
      return await ctx.approve(...question);
    } finally {
      deadline?.resume();
    }
  };
  const { askUser } = ctx;
  if (askUser === undefined) return { ...ctx, approve };
  const askUserPaused: RunContext['askUser'] = async (...question) => {
    deadline?.pause();
    try {
      return await askUser(...question);
    } finally {
      deadline?.resume();
    }
  };
  return { ...ctx, approve, askUser: askUserPaused };
}

async function attempt(tree: RunTree, task: string, ctx: RunContext): Promise<Outcome> {
  try {
    return await tree.runTask(task, ctx);
  } catch (thrown) {
    const error = { kind: 'internal', message: messageOf(thrown) };
    return { reason: 'failed', answer: '', turns: 0, usage: NO_USAGE, verdicts: [], proof: ctx.ledger.proof(), error };
  }
}

async function delegateTasks(
  tree: RunTree,
  tasks: readonly DelegatedTask[],
  parent: { readonly signal: AbortSignal; readonly parentRunId: string },
): Promise<readonly DelegatedResult[]> {
  const results: DelegatedResult[] = [];
  for (const [index, { worker: name, task, files = [] }] of tasks.entries()) {
    const worker = catalogue(tree.workers).find((candidate) => candidate.name === name.replace(/^@/, '').toLowerCase());
    if (worker === undefined) {
      results.push(unknownWorker(name, tree));
      continue;
    }
    const text = files.length === 0 ? task : `${task}\n\nLook at these first: ${files.join(', ')}`;
    const outcome = await runWorker(tree, { worker, task: text, index, total: tasks.length, ...parent });
    results.push(toResult(name, outcome));
  }
  return results;
}

function unknownWorker(name: string, tree: RunTree): DelegatedResult {
  const names = catalogue(tree.workers).map((worker) => worker.name);
  const problem = `There is no worker "${name}". The workers are: ${names.join(', ')}.`;
  return { worker: name, status: 'failed', text: '', problem, filesChanged: [] };
}

function toResult(worker: string, outcome: Outcome): DelegatedResult {
  const status = statusOf(outcome);
  const { filesChanged } = outcome.proof;
  if (status === 'done') return { worker, status, text: outcome.answer, filesChanged };
  const problem = outcome.error?.message ?? `It ended with: ${outcome.reason}. What follows is partial.`;
  return { worker, status, text: outcome.answer, problem, filesChanged };
}

function statusOf(outcome: Outcome): WorkerStatus {
  if (outcome.reason === 'answered') return 'done';
  if (outcome.reason === 'timeout') return 'timed-out';
  return outcome.reason === 'interrupted' ? 'cancelled' : 'failed';
}
