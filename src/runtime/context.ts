/** Makes run contexts: what a worker may use, cut from what the whole tree shares. */

import type { Emitter } from '../events/emitter.js';
import type { ApprovalAnswer, ApprovalQuestion, ApprovalVerdict, UserQuestion, WindowSize } from '../events/types.js';
import type { Decision, Request } from '../permissions/types.js';
import type { Provider } from '../providers/types.js';
import { untilAborted } from '../tools/abort.js';
import { advertise } from '../tools/spec.js';
import type { Tool } from '../tools/types.js';
import type { Worker } from '../workers/types.js';
import { verdictOf } from './approval.js';
import type { Budget } from './budget.js';
import { createLedger, type Ledger } from './ledger.js';
import type { RunOptions } from './options.js';
import { createPlanBoard, type PlanBoard } from './plan-board.js';
import type { RunContext, RunTask, WorkerLimits } from './types.js';

/** What all workers of one tree share. */
export type RunTree = {
  readonly provider: Provider;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly workers: ReadonlyMap<string, Worker>;
  readonly toolContext: RunContext['toolContext'];
  readonly emitter: Emitter;
  readonly budget: Budget;
  readonly ledger: Ledger;
  readonly now: () => number;
  readonly newId: () => string;
  /** Off: no worker gets `delegate`. */
  readonly mayDelegate: boolean;
  /** How a worker's task is run: the loop, or a pipeline around it. */
  readonly runTask: RunTask;
  readonly modelOf: (worker: Worker) => string;
  /** The window of a model: see `RunContext.window`. */
  readonly windowOf?: (model: string) => Promise<WindowSize>;
  readonly limitsOf: (worker: Worker) => WorkerLimits;
  /** What is special about the run of the root worker; those it delegates to have only what binds the whole tree. */
  readonly rootOptions: RunOptions;
  readonly systemPromptOf: (worker: Worker) => string;
  /** What to do about a turn limit that is reached, as a sentence for whoever set it. */
  readonly turnLimitHint?: string;
  /** Judges a call of this worker; looked up anew each time, since a person's answer may add a rule. */
  readonly decide: (request: Request, worker: Worker) => Decision;
  /**
   * Asks the person. `no` at once where nobody can answer; whatever does not allow is a `no` as well. `again` judges the
   * call anew, for a question that had to wait for others.
   */
  readonly ask: (
    question: ApprovalQuestion,
    worker: Worker,
    signal: AbortSignal,
    again: () => Decision,
  ) => Promise<ApprovalAnswer | ApprovalVerdict>;
  /** Puts a question of the model to the person. Absent where nobody can answer: then no worker gets `ask_user`. */
  readonly askUser?: (question: UserQuestion, worker: Worker, signal: AbortSignal) => Promise<string | undefined>;
  /** Where the plans of the tree stand; a run has one of its own where there is none. */
  readonly plans?: PlanBoard;
};

/**
 * What binds the whole tree, so that nobody gets around it by delegating, and how the one endpoint is spoken to. A
 * worker has no effect policy of its own: it has its parent's, never more.
 */
function gatesOf({ roundExecutor, effects, attempts, stream, headers, idleTimeoutMs }: RunOptions): RunOptions {
  return {
    ...(roundExecutor && { roundExecutor }),
    ...(effects && { effects }),
    ...(attempts && { attempts }),
    ...(stream === false && { stream }),
    ...(headers && { headers }),
    ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
  };
}

export type Placement = {
  readonly signal: AbortSignal;
  readonly parentRunId?: string;
  readonly runId?: string;
  readonly delegate?: RunContext['delegate'];
};

/** The context of one run of `worker`. It has `delegate` only if it was given one. */
export function createRunContext(tree: RunTree, worker: Worker, placement: Placement): RunContext {
  const { signal, parentRunId, delegate, runId = tree.newId() } = placement;
  const emit = tree.emitter.forRun({ runId, ...(parentRunId !== undefined && { parentRunId }), worker: worker.name });
  const tools = toolsOf(worker, tree, delegate !== undefined);
  const model = tree.modelOf(worker);
  const { windowOf, askUser, plans = createPlanBoard() } = tree;
  return {
    runId,
    ...(parentRunId !== undefined && { parentRunId }),
    worker,
    model,
    ...(windowOf && { window: windowOf }),
    limits: tree.limitsOf(worker),
    ...(tree.turnLimitHint !== undefined && { turnLimitHint: tree.turnLimitHint }),
    provider: tree.provider,
    tools,
    toolSpecs: advertise(tools.values()),
    toolContext: tree.toolContext,
    systemPrompt: tree.systemPromptOf(worker),
    emit,
    decide: (request) => tree.decide(request, worker),
    approve: async (question, callId, approvalSignal, again) => {
      const approvalId = tree.newId();
      emit({ type: 'approval-request', approvalId, callId, ...question });
      let verdict: ApprovalVerdict = { answer: 'no' };
      try {
        verdict = verdictOf(await untilAborted(approvalSignal, tree.ask(question, worker, approvalSignal, again)));
      } finally {
        emit({ type: 'approval-response', approvalId, ...verdict });
      }
      return verdict;
    },
    ...(askUser && {
      askUser: async (question, callId, questionSignal) => {
        const questionId = tree.newId();
        emit({ type: 'user-question', questionId, callId, ...question });
        let answer: string | undefined;
        try {
          answer = textOr(await untilAborted(questionSignal, askUser(question, worker, questionSignal)));
        } finally {
          emit({ type: 'user-answer', questionId, ...(answer !== undefined && { answer }) });
        }
        return answer;
      },
    }),
    plan: {
      steps: () => plans.of(runId),
      keep: (steps) => {
        plans.set(runId, steps);
        emit({ type: 'plan-update', steps });
      },
    },
    budget: tree.budget,
    // The root's own ledger is that of the tree: what its workers did is its proof, and their refusals are its own.
    ledger: parentRunId === undefined ? tree.ledger : createLedger(tree.ledger),
    options: parentRunId === undefined ? tree.rootOptions : gatesOf(tree.rootOptions),
    signal,
    now: tree.now,
    ...(delegate && { delegate }),
  };
}

/** The tools of a root worker as its provider gets them. */
export function createToolSpecs(tree: RunTree, worker: Worker): RunContext['toolSpecs'] {
  return advertise(toolsOf(worker, tree, tree.mayDelegate).values());
}

/** What a library user's function gives is a text or it is no answer. */
function textOr(given: unknown): string | undefined {
  return typeof given === 'string' && given.trim() !== '' ? given : undefined;
}

function toolsOf(worker: Worker, tree: RunTree, mayDelegate: boolean): ReadonlyMap<string, Tool> {
  const isOffered = (name: string) =>
    (name !== 'delegate' || mayDelegate) && (name !== 'ask_user' || tree.askUser !== undefined);
  return new Map(
    worker.tools.filter(isOffered).flatMap((name) => {
      const tool = tree.tools.get(name);
      return tool === undefined ? [] : [[name, tool] as const];
    }),
  );
}
