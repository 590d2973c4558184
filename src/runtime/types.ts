/** What carries a run: the context, and the shape that loop, pipeline and fakes share. */
import type { AgentEvent, ApprovalAnswer, ApprovalQuestion, EventBody } from '../events/types.js';
import type { Limits, Outcome } from '../kernel/types.js';
import type { Decision, Denial, Request } from '../permissions/types.js';
import type { Provider } from '../providers/types.js';
import type { Tool, ToolContext } from '../tools/types.js';
import type { Worker } from '../workers/types.js';
import type { Budget } from './budget.js';
import type { Ledger } from './ledger.js';

/** What a worker may spend on one run. */
export type WorkerLimits = Limits & { readonly timeoutMs: number };

/** The only carrier of effects. A child context shares budget, ledger and workspace with its parent. */
export type RunContext = {
  readonly runId: string;
  readonly parentRunId?: string;
  readonly worker: Worker;
  readonly model: string;
  readonly limits: WorkerLimits;
  readonly provider: Provider;
  /** The tools this worker may call, by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  readonly toolContext: Omit<ToolContext, 'update' | 'signal' | 'delegate'>;
  /** The system prompt, built once for a run so that the provider's cache holds. */
  readonly systemPrompt: string;
  readonly emit: (body: EventBody) => void;
  readonly decide: (request: Request) => Decision;
  /** Asks the person; resolves `no` at once where nobody can answer. */
  readonly approve: (question: ApprovalQuestion, callId: string, signal: AbortSignal) => Promise<ApprovalAnswer>;
  readonly budget: Budget;
  /** What the whole tree did to files and which commands it ran. */
  readonly ledger: Ledger;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Makes the context of a delegated worker; absent in a delegated worker, since depth is 1. */
  readonly child?: (workerName: string) => RunContext;
  /** Names of the workers that `child` accepts. */
  readonly catalogue: readonly Worker[];
};

/** The loop is one, a composed pipeline is one, a fake is one. */
export type RunTask = (task: string, ctx: RunContext) => Promise<Outcome>;

export type { AgentEvent, Denial };
