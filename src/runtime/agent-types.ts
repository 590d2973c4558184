/** What a library user gives to `createAgent`, and what comes back. */

import type * as z from 'zod';
import type { Memory } from '../context/memory.js';
import type { SkillDiagnostic } from '../context/skills.js';
import type { Trace } from '../events/trace.js';
import type { AgentEvent, ApprovalAnswer, ApprovalQuestion, EventSink } from '../events/types.js';
import type { Message, Outcome } from '../kernel/types.js';
import type { ApprovalMode } from '../permissions/types.js';
import type { Provider } from '../providers/types.js';
import type { Tool } from '../tools/types.js';
import type { GivenPrice } from './agent-cost.js';
import type { BudgetLimits } from './budget.js';
import type { StreamChunk } from './chunks.js';
import type { EffectPolicy } from './effects.js';
import type { ContextOp } from './lanes.js';
import type { EffectOptions, RoundExecutor, TransformRequest } from './options.js';
import type { InputRefusal } from './steer.js';
import type { TelemetryRecord } from './telemetry.js';
import type { JsonSchema } from './typed-schema.js';

export type AgentOptions = {
  readonly provider: Provider;
  /** As the endpoint calls it; the scripted provider takes any. */
  readonly model?: string;
  readonly tools?: readonly Tool[];
  readonly systemPrompt?: string;
  /** Absent limits: 30 turns, 10 minutes, 3 output retries; no budget. A cost limit wants a model whose price is known. */
  readonly limits?: BudgetLimits & {
    readonly maxTurns?: number;
    readonly timeoutMs?: number;
    readonly maxOutputRetries?: number;
  };
  /** What the model costs; by default what our table says of `model`, if it is in there. */
  readonly price?: GivenPrice;
  /**
   * The model's window, in tokens. With it the history is kept within: long results are shortened, then a summary,
   * asked for by one more request, takes the place of the older part. Each such step is a `context` event.
   */
  readonly contextWindow?: number;
  /** What of the conversation enters a request. By default all of it with a `contextWindow`, else 128,000 tokens. */
  readonly memory?: Memory;
  /** Folder that file tools may use; the current one by default. */
  readonly workspace?: string;
  /** What tools find in `context.values`; a run's own values are merged over it. */
  readonly toolContext?: Readonly<Record<string, unknown>>;
  /** What tools share over rounds and runs; the same map for the library user. */
  readonly state?: Map<string, unknown>;
  /** Judges tools that do more than read; `ask` by default, and with nobody to ask that is a refusal. */
  readonly approvalMode?: ApprovalMode;
  readonly approve?: (question: ApprovalQuestion, signal: AbortSignal) => Promise<ApprovalAnswer>;
  readonly onEvent?: EventSink;
  readonly roundExecutor?: RoundExecutor;
  readonly transformRequest?: TransformRequest;
  /** False: each reply is asked for in one piece; the events are the same. */
  readonly stream?: boolean;
  /** Sent with each model request; they win over the provider's own. */
  readonly httpOptions?: { readonly headers?: Readonly<Record<string, string>> };
  /** Upper bound of each reply, in tokens. */
  readonly maxTokens?: number;
  readonly modelOptions?: Readonly<Record<string, unknown>>;
  /** Per attempt, in milliseconds; 15,000 by default. */
  readonly toolTimeoutMs?: number;
  /** 1 by default. */
  readonly toolRetries?: number;
  /** Milliseconds; 200 by default. */
  readonly toolRetryBackoffMs?: number;
  /** Milliseconds; 0, none, by default. */
  readonly toolHeartbeatMs?: number;
  /** Longest silence of the model, in milliseconds; 0 means the tool timeout and a minute. */
  readonly idleTimeoutMs?: number;
  /** What tools may ask for beside their result. */
  readonly effectPolicy?: EffectPolicy;
  /** Told of each effect that is allowed and not ours to carry out. */
  readonly onEffect?: EffectOptions['onEffect'];
  /** The form that answers have to have, in each run that does not say otherwise. */
  readonly output?: z.core.$ZodType | JsonSchema;
  /** Makes `checkpoint` events, from whose tokens a run can be gone on with. The secret signs them. */
  readonly checkpoints?: { readonly secret: string; readonly ttlMs?: number };
  /** Records with fixed keys for a tracing system; never holds a run up. */
  readonly observability?: (record: TelemetryRecord) => void | Promise<void>;
  /** Folders whose skills are offered by name; the model loads one with `load_skill`. */
  readonly skillFolders?: readonly string[];
  /** Milliseconds since the epoch; `Date.now` by default. */
  readonly now?: () => number;
};

/** What may differ in one run; nothing of it outlives the run. */
export type AskOptions = {
  /** In place of the agent's tools. */
  readonly tools?: readonly Tool[];
  /** Names out of the tools; an unknown one is a rejection. */
  readonly allowedTools?: readonly string[];
  readonly toolContext?: Readonly<Record<string, unknown>>;
  readonly maxTokens?: number;
  readonly modelOptions?: Readonly<Record<string, unknown>>;
  /** Cancels the run. */
  readonly signal?: AbortSignal;
  /**
   * Goes on with the run that this checkpoint token is of, unless it was answered; the task is then the one of that run.
   * Calls that had ended do not run again. In the conversation it takes the place of what there is of that run.
   */
  readonly checkpoint?: string;
  /** Narrows the agent's policy for this run: what both allow is allowed. */
  readonly effectPolicy?: EffectPolicy;
  /** Whether the agent's `output` holds in this run; true by default. */
  readonly raw?: boolean;
  /** Time for this run, in milliseconds; its end is a timeout, not a cancel. */
  readonly timeoutMs?: number;
};

export type RunHandle = {
  readonly id: string;
  /** All events of the run, for one reader; leaving early cancels the run. */
  readonly events: AsyncIterable<AgentEvent>;
  /**
   * Settles once, after the last event, and never rejects: how the run ended is in the outcome, also where a folder, a
   * schema or a checkpoint (its `error.code` says why) kept it from starting.
   */
  readonly result: Promise<Outcome>;
};

export type SteerResult =
  | { readonly ok: true; readonly inputId: string }
  | { readonly ok: false; readonly reason: InputRefusal | 'idle' | 'mismatch' };

export type SteerOptions = { readonly expectedRunId?: string };

export type CancelOptions = {
  /** Only this run; another one goes on. */
  readonly runId?: string;
  /** `user_cancelled` by default. */
  readonly reason?: string;
};

export type Agent = {
  /**
   * Starts a run and returns at once.
   * @throws {RejectedError} `busy`, `unknown-tools`, `no-task`; a run under way is not touched.
   */
  readonly ask: (task: string, options?: AskOptions) => RunHandle;
  /** `ask`, waited for. */
  readonly run: (task: string, options?: AskOptions) => Promise<Outcome>;
  /** The visible parts of a run, ended by exactly one of done, cancelled, error. */
  readonly stream: (task: string, options?: AskOptions) => AsyncIterable<StreamChunk>;
  /**
   * Runs until the answer fits the schema, and gives the value.
   * @throws {OutputRetriesExhausted} {OutputParseError} when there is none.
   * @throws {RunEndedError} when the run ended in another way: its `outcome` says how.
   */
  readonly runTyped: <Schema extends z.core.$ZodType>(
    schema: Schema,
    task: string,
    options?: AskOptions,
  ) => Promise<z.output<Schema>>;
  /** A person's words for the run under way; they enter before its next model call. */
  readonly steer: (text: string, options?: SteerOptions) => SteerResult;
  /** A program's words; the same way. */
  readonly inject: (text: string, options?: SteerOptions) => SteerResult;
  /** True when a run was under way and is being cancelled. */
  readonly cancel: (options?: CancelOptions) => boolean;
  /** Replaces a tool of the same name; from the next run on. */
  readonly registerTool: (tool: Tool) => void;
  /** False when there is none of that name. From the next run on. */
  readonly unregisterTool: (name: string) => boolean;
  readonly listTools: () => readonly Tool[];
  /** From the next run on. */
  readonly setSystemPrompt: (prompt: string) => void;
  /** Replaces the values as a whole; from the next run on. */
  readonly setToolContext: (values: Readonly<Record<string, unknown>>) => void;
  /**
   * Changes the conversation: at once when idle, else behind the run, in order. False for an operation id that is known.
   * @throws {UsageError} when it has no id.
   */
  readonly contextOp: (op: ContextOp) => boolean;
  /** The conversation as the next run begins with it, without the system prompt. */
  readonly messages: () => readonly Message[];
  /** What tools share; the map that was given, or the agent's own. */
  readonly state: Map<string, unknown>;
  /** The last checkpoint token of the run under way, or of the last one. */
  readonly checkpoint: () => string | undefined;
  /** What is wrong with the skills that were found, after the first run. */
  readonly skillDiagnostics: () => readonly SkillDiagnostic[];
  /**
   * Destroys what runs share, from outside: a run under way fails with kind `worker`, and the next one starts anew.
   */
  readonly destroyWorker: (reason: string) => void;
  /** How often a worker was started. */
  readonly workerStarts: () => number;
  /** The events of one run, the first 2,000; undefined for one that is not known any more. */
  readonly traces: (runId: string) => Trace | undefined;
  /** Ids of the last 100 runs, oldest first. */
  readonly runs: () => readonly string[];
};
