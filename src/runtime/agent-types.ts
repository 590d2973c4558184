/** What a library user gives to `createAgent`, and what comes back. */

import type * as z from 'zod';
import type { Memory } from '../context/memory.js';
import type { SkillDiagnostic } from '../context/skills.js';
import type { Trace } from '../events/trace.js';
import type { AgentEvent, ApprovalAnswer, ApprovalQuestion, EventSink, UserQuestion } from '../events/types.js';
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
  readonly model?: string | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly systemPrompt?: string | undefined;
  /**
   * Absent limits: 30 turns, 10 minutes, 3 output retries; no budget. `Infinity` is no limit, as with all times here. A
   * cost limit wants a model whose price is known.
   */
  readonly limits?:
    | (BudgetLimits & {
        readonly maxTurns?: number | undefined;
        readonly timeoutMs?: number | undefined;
        readonly maxOutputRetries?: number | undefined;
      })
    | undefined;
  /** What the model costs; by default what our table says of `model`, if it is in there. */
  readonly price?: GivenPrice | undefined;
  /**
   * The model's window, in tokens. With it the history is kept within: long results are shortened, then a summary,
   * asked for by one more request, takes the place of the older part. Each such step is a `context` event.
   */
  readonly contextWindow?: number | undefined;
  /** What of the conversation enters a request. By default all of it with a `contextWindow`, else 128,000 tokens. */
  readonly memory?: Memory | undefined;
  /** Folder that file tools may use; the current one by default. */
  readonly workspace?: string | undefined;
  /** What tools find in `context.values`; a run's own values are merged over it. */
  readonly toolContext?: Readonly<Record<string, unknown>> | undefined;
  /** What tools share over rounds and runs; the same map for the library user. */
  readonly state?: Map<string, unknown> | undefined;
  /** Judges tools that do more than read; `ask` by default, and with nobody to ask that is a refusal. */
  readonly approvalMode?: ApprovalMode | undefined;
  /**
   * Only `once`, `session` and `always` allow; anything else is a refusal, and `{answer: 'no', message}` one with a word to
   * the model. The last two add the question's `rule`, where it has one, for the life of the agent; nothing is stored. The
   * run's deadline rests meanwhile; a cancel ends the waiting.
   */
  readonly approve?: ((question: ApprovalQuestion, signal: AbortSignal) => Promise<ApprovalAnswer>) | undefined;
  /**
   * Answers questions of the model, for the tool `ask_user`: without it no run is offered that one. Nothing, or a blank
   * text, is no answer. The run's deadline rests meanwhile; a cancel ends the waiting.
   */
  readonly askUser?: ((question: UserQuestion, signal: AbortSignal) => Promise<string | undefined>) | undefined;
  readonly onEvent?: EventSink | undefined;
  readonly roundExecutor?: RoundExecutor | undefined;
  readonly transformRequest?: TransformRequest | undefined;
  /** False: each reply is asked for in one piece; the events are the same. */
  readonly stream?: boolean | undefined;
  /** Sent with each model request; they win over the provider's own. */
  readonly httpOptions?: { readonly headers?: Readonly<Record<string, string>> } | undefined;
  /** Upper bound of each reply, in tokens. */
  readonly maxTokens?: number | undefined;
  readonly modelOptions?: Readonly<Record<string, unknown>> | undefined;
  /** Per attempt, in milliseconds; 15,000 by default. */
  readonly toolTimeoutMs?: number | undefined;
  /** 1 by default. */
  readonly toolRetries?: number | undefined;
  /** Milliseconds; 200 by default. */
  readonly toolRetryBackoffMs?: number | undefined;
  /** Milliseconds; 0, none, by default. */
  readonly toolHeartbeatMs?: number | undefined;
  /** Longest silence of the model, in milliseconds; 0 means the tool timeout and a minute. */
  readonly idleTimeoutMs?: number | undefined;
  /** What tools may ask for beside their result. */
  readonly effectPolicy?: EffectPolicy | undefined;
  /** Told of each effect that is allowed and not ours to carry out. */
  readonly onEffect?: EffectOptions['onEffect'] | undefined;
  /**
   * The form that answers have to have, in each run that does not say otherwise. The outcome's `answer` is then the JSON
   * alone, without a code fence; `runTyped` gives the value. See `answerCheckOf` for what a JSON Schema may hold.
   */
  readonly output?: z.core.$ZodType | JsonSchema | undefined;
  /** Makes `checkpoint` events, from whose tokens a run can be gone on with. The secret signs them. */
  readonly checkpoints?: { readonly secret: string; readonly ttlMs?: number } | undefined;
  /** Records with fixed keys for a tracing system; never holds a run up. */
  readonly observability?: ((record: TelemetryRecord) => void | Promise<void>) | undefined;
  /**
   * Folders whose skills are offered by name, up to 2,000 folders below each. Where there are any, the model loads one with
   * `load_skill`, a tool of the agent's own: no other may have that name.
   */
  readonly skillFolders?: readonly string[] | undefined;
  /** Milliseconds since the epoch; `Date.now` by default. */
  readonly now?: (() => number) | undefined;
};

/** What may differ in one run; nothing of it outlives the run. */
export type AskOptions = {
  /** In place of the agent's tools, `load_skill` among them. */
  readonly tools?: readonly Tool[] | undefined;
  /** Names out of the tools, or `load_skill` where there are skill folders; an unknown one is a rejection. */
  readonly allowedTools?: readonly string[] | undefined;
  readonly toolContext?: Readonly<Record<string, unknown>> | undefined;
  readonly maxTokens?: number | undefined;
  readonly modelOptions?: Readonly<Record<string, unknown>> | undefined;
  /** Cancels the run. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Goes on with the run that this checkpoint token is of, unless it was answered; the task is then the one of that run.
   * Calls that had ended do not run again. In the conversation it takes the place of what there is of that run.
   */
  readonly checkpoint?: string | undefined;
  /** Narrows the agent's policy for this run: what both allow is allowed. */
  readonly effectPolicy?: EffectPolicy | undefined;
  /** Whether the agent's `output` holds in this run; true by default. */
  readonly raw?: boolean | undefined;
  /**
   * Time for this run, in milliseconds; its end is a timeout, not a cancel. The time that `approve` takes does not count,
   * since a person may think as long as they like: `cancel`, `signal` and `destroyWorker` end a question.
   */
  readonly timeoutMs?: number | undefined;
};

export type RunHandle = {
  readonly id: string;
  /**
   * All events of the run, for one reader: a second one is a `UsageError`. Leaving early cancels the run and waits for its
   * end, so that the next one can start. Exactly one of them is a `run-end`, also where the run could not start.
   */
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
  readonly runId?: string | undefined;
  /** `user_cancelled` by default. */
  readonly reason?: string | undefined;
};

export type Agent = {
  /**
   * Starts a run and returns at once.
   * @throws {RejectedError} `busy`, `unknown-tools`, `no-task`; a run under way is not touched.
   * @throws {UsageError} naming the option or tool that can't be used, e.g. one called `load_skill` beside skill folders.
   */
  readonly ask: (task: string, options?: AskOptions) => RunHandle;
  /** `ask`, waited for. */
  readonly run: (task: string, options?: AskOptions) => Promise<Outcome>;
  /** The visible parts of a run, ended by exactly one of done, cancelled, error; leaving early as with `RunHandle.events`. */
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
  /**
   * Replaces a tool of the same name; from the next run on.
   * @throws {UsageError} naming what is wrong with the tool, e.g. the name `load_skill` beside skill folders.
   */
  readonly registerTool: (tool: Tool) => void;
  /** False when there is none of that name. From the next run on. */
  readonly unregisterTool: (name: string) => boolean;
  /** The registered tools, by their order. `load_skill` is not among them: it comes and goes with the skills. */
  readonly listTools: () => readonly Tool[];
  /** From the next run on. A blank prompt changes nothing: to have none, make the agent without one. */
  readonly setSystemPrompt: (prompt: string) => void;
  /** Replaces the values as a whole; from the next run on. */
  readonly setToolContext: (values: Readonly<Record<string, unknown>>) => void;
  /**
   * Changes the conversation: at once when idle, else behind the run, in order. False for an operation id that is known.
   * @throws {UsageError} naming what of it does not fit; then nothing of it is applied, now or later.
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
  /**
   * Cancels a run under way, and ends what the agent's tools left running, e.g. background commands; without it they end
   * with the process. The agent can be used afterwards as before.
   */
  readonly close: () => Promise<void>;
  /** The events of one run, the first 2,000; undefined for one that is not known any more. */
  readonly traces: (runId: string) => Trace | undefined;
  /** Ids of the last 100 runs, oldest first. */
  readonly runs: () => readonly string[];
};
