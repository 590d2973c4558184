/** What carries a run: the context, and the shape that loop, pipeline and fakes share. */
import type {
  ApprovalQuestion,
  ApprovalVerdict,
  EventBody,
  PlanStep,
  UserQuestion,
  WindowSize,
} from '../events/types.js';
import type { Limits, Outcome } from '../kernel/types.js';
import type { Decision, Request } from '../permissions/types.js';
import type { Provider, ToolSpec } from '../providers/types.js';
import type { DelegatedResult, DelegatedTask, Tool, ToolContext } from '../tools/types.js';
import type { Worker } from '../workers/types.js';
import type { Budget } from './budget.js';
import type { Ledger } from './ledger.js';
import type { RunOptions } from './options.js';

/** What a worker may spend on one run. */
export type WorkerLimits = Limits & { readonly timeoutMs: number };

/** The only carrier of effects. A child context shares budget, ledger and workspace with its parent. */
export type RunContext = {
  readonly runId: string;
  readonly parentRunId?: string;
  readonly worker: Worker;
  readonly model: string;
  readonly limits: WorkerLimits;
  /** What to do about a turn limit that is reached, as a sentence. */
  readonly turnLimitHint?: string;
  readonly provider: Provider;
  /** The tools this worker may call, by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** The same tools as the provider advertises them: one list for the whole run, so that its cache holds. */
  readonly toolSpecs: readonly ToolSpec[];
  readonly toolContext: Omit<ToolContext, 'update' | 'signal' | 'delegate' | 'askUser' | 'keepPlan' | 'judge'>;
  /** The system prompt, built once for a run so that the provider's cache holds. */
  readonly systemPrompt: string;
  readonly emit: (body: EventBody) => void;
  readonly decide: (request: Request) => Decision;
  /** Asks the person; resolves `no` at once where nobody can answer. */
  readonly approve: (
    question: ApprovalQuestion,
    callId: string,
    signal: AbortSignal,
    again: () => Decision,
  ) => Promise<ApprovalVerdict>;
  /** Puts a question of the model to the person; undefined: no answer. Absent where there is nobody. */
  readonly askUser?: (question: UserQuestion, callId: string, signal: AbortSignal) => Promise<string | undefined>;
  /** The worker's plan as it last gave it; empty where it gave none. */
  readonly plan: { readonly steps: () => readonly PlanStep[]; readonly keep: (steps: readonly PlanStep[]) => void };
  readonly budget: Budget;
  /**
   * How large a model's window is, asked only when it matters; never fails. Absent: nobody knows, and requests are kept
   * within none.
   */
  readonly window?: (model: string) => Promise<WindowSize>;
  /** Told when another model answers than the one asked for. */
  readonly answeredBy?: (model: string) => void;
  /** What the whole tree did to files and which commands it ran. */
  readonly ledger: Ledger;
  /** What a library user changed about this run. */
  readonly options: RunOptions;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Runs workers and waits for them; absent in a delegated worker, since workers never delegate further. */
  readonly delegate?: (tasks: readonly DelegatedTask[]) => Promise<readonly DelegatedResult[]>;
};

/** The loop is one, a composed pipeline is one, a fake is one. */
export type RunTask = (task: string, ctx: RunContext) => Promise<Outcome>;
