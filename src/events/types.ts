/** The one stream of events that tells everything that happens in a run. Plain JSON, no functions. */
import type { FinishReason, OutcomeReason, Proof, RunError, ToolCall, Usage } from '../kernel/types.js';
import type { Display } from './display.js';

export type { DiffLine, Display, FileDiff } from './display.js';

/** A question of the model to the person; `options` are answers that it offers. */
export type UserQuestion = { readonly question: string; readonly options?: readonly string[] };

export const PLAN_STATUSES = ['pending', 'active', 'done', 'failed'] as const;

/** One step of a plan; `owner` is the worker that does it. */
export type PlanStep = {
  readonly text: string;
  readonly status: (typeof PLAN_STATUSES)[number];
  readonly owner?: string;
};

/** What a permission question is about; whole, never shortened. */
export type ApprovalQuestion = {
  readonly tool: string;
  /** The whole command, path or URL. */
  readonly subject: string;
  /** The same for people: what can't be seen (control characters, marks of direction) stands there as `\u{…}`. */
  readonly shown: string;
  /** There are such characters in it: a reason for a second look. */
  readonly hasInvisible?: true;
  /** Where a command starts, relative to the workspace's root. */
  readonly cwd?: string;
  /** Why it is asked, as a sentence. */
  readonly reason: string;
  /** The rule that asks, and where it stands. */
  readonly matched?: { readonly rule: string; readonly source: string };
  /** The rule that "this session" would add, e.g. `shell(npm test)`; absent where there is none. */
  readonly rule?: string;
  /** The rule that "always" would store for this repository, verbatim; absent where none must be stored. */
  readonly storedRule?: string;
  readonly display?: Display;
};

/**
 * Whether a call may run: this once, from now on in this session, for good (`always`, which counts as `session` where
 * nothing is stored), or not. A `no` may carry a word to the model.
 */
export type ApprovalAnswer =
  | 'once'
  | 'session'
  | 'always'
  | 'no'
  | { readonly answer: 'no'; readonly message?: string };

/** An answer as the events tell it. */
export type ApprovalVerdict = {
  readonly answer: 'once' | 'session' | 'always' | 'no';
  /** The person's word to the model. */
  readonly message?: string;
  /** Who answered in the person's place: a rule that came while the question waited, or the limit of its time. */
  readonly by?: 'rule' | 'timeout';
};

/** What a request is made of, in tokens. */
export type TokenParts = {
  readonly system: number;
  readonly tools: number;
  readonly user: number;
  /** Text, reasoning and calls of the model. */
  readonly assistant: number;
  readonly results: number;
};

/** Where the size of a window is known from. */
export type WindowSource = 'setting' | 'table' | 'endpoint' | 'default' | 'refusal';

export type WindowSize = { readonly tokens: number; readonly source: WindowSource };

/** What fills the window of a run: its last request. */
export type ContextFill = {
  /** What the endpoint counted, else our estimate. */
  readonly tokens: number;
  readonly isEstimate: boolean;
  /** Absent while nobody needed to know: it may have to be asked for. */
  readonly window?: WindowSize;
  /** By estimate. */
  readonly parts: TokenParts;
};

/**
 * Event bodies. Ordering within one run: `run-start` first, `run-end` last; every `turn-start` has one `turn-end`
 * behind it, every `tool-start` one `tool-end`, every `approval-request` one `approval-response`, every `user-question`
 * one `user-answer`, every `worker-start` one `worker-end`, whatever ends the run.
 */
export type EventBody =
  /** First event of a run. `maxTurns` and `timeoutMs` are the limits that bind it. */
  | {
      readonly type: 'run-start';
      readonly task: string;
      readonly model: string;
      readonly cwd: string;
      readonly maxTurns: number;
      readonly timeoutMs: number;
    }
  /** Before each model call; `turn` counts from 1. A `summary` is the tool-free last request at a turn limit. */
  | { readonly type: 'turn-start'; readonly turn: number; readonly purpose: 'turn' | 'summary' }
  /** Text and reasoning as they arrive; may be void if a `retry` or `fallback` follows before the `message`. */
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  /** A whole reply, once; `incomplete` when it was shown in part and then dropped (interrupt, break). */
  | {
      readonly type: 'message';
      readonly text: string;
      readonly reasoning?: string;
      readonly toolCalls: readonly ToolCall[];
      readonly incomplete?: true;
    }
  /** Before a tool call is judged and run. `subject` is its path, command or URL. */
  | {
      readonly type: 'tool-start';
      readonly callId: string;
      readonly name: string;
      /** The arguments as JSON text. */
      readonly arguments: string;
      readonly subject?: string;
    }
  /** Output of a running tool as it comes. */
  | { readonly type: 'tool-update'; readonly callId: string; readonly text: string }
  /**
   * The end of a tool call, in finish order. `output` is the text the model gets; readers decide by fields. Where the
   * model gets a note behind it, since it goes in circles, a `stuck-warning` notice follows the round.
   */
  | {
      readonly type: 'tool-end';
      readonly callId: string;
      readonly name: string;
      readonly ok: boolean;
      readonly code?: string;
      readonly denied?: boolean;
      /** The rule or mode that decided, when denied. */
      readonly rule?: string;
      readonly durationMs: number;
      /** How often it was tried; 0 when it did not run. */
      readonly attempts: number;
      readonly output: string;
      readonly touched?: readonly string[];
      readonly command?: { readonly command: string; readonly exitCode: number | null };
      readonly display?: Display;
    }
  | ({ readonly type: 'approval-request'; readonly approvalId: string; readonly callId: string } & ApprovalQuestion)
  | ({ readonly type: 'approval-response'; readonly approvalId: string } & ApprovalVerdict)
  /** The model asks the person, within its call of `ask_user`; questions are put one at a time. */
  | ({ readonly type: 'user-question'; readonly questionId: string; readonly callId: string } & UserQuestion)
  /** Without `answer`: they gave none. */
  | { readonly type: 'user-answer'; readonly questionId: string; readonly answer?: string }
  /** The plan of this run's worker, whole, each time that it changes. */
  | { readonly type: 'plan-update'; readonly steps: readonly PlanStep[] }
  /** After the reply and its tool results are recorded. */
  | {
      readonly type: 'turn-end';
      readonly turn: number;
      /** Absent when the turn was dropped before a reply was recorded. */
      readonly finishReason?: FinishReason;
      readonly usage: Usage;
    }
  /** A model request failed and is tried again after `waitMs`; what was shown of it is void. */
  | {
      readonly type: 'retry';
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly waitMs: number;
      readonly reason: string;
    }
  /** A model failed for good, and the next of those that the person named is asked; what was shown of it is void. */
  | { readonly type: 'fallback'; readonly from: string; readonly to: string; readonly reason: string }
  /** Running totals of the whole tree, after each reply. `costUsd` is null where a price is unknown. */
  | {
      readonly type: 'usage';
      readonly usage: Usage;
      readonly costUsd: number | null;
      /** What fills the window of this run. */
      readonly context?: ContextFill;
    }
  /** Around each worker's run, also a single one: ChatCLI's Started, and Completed or Failed. */
  | { readonly type: 'worker-start'; readonly index: number; readonly total: number; readonly task: string }
  | {
      readonly type: 'worker-end';
      readonly index: number;
      readonly total: number;
      readonly status: 'done' | 'failed' | 'timed-out' | 'cancelled';
      readonly durationMs: number;
      readonly turns: number;
      readonly error?: RunError;
    }
  /** Text that came in during a run: taken into the history, or given back because the run ended first. */
  | {
      readonly type: 'input';
      readonly inputId: string;
      readonly kind: 'steer' | 'inject';
      readonly status: 'taken' | 'dropped';
      readonly text: string;
    }
  /**
   * Before a model call the history was made shorter, so that it fits the window: old results (`shrink`), a summary in
   * place of the older part, or nothing in its place (`trim`). The requests that follow begin in another way. And a change
   * of the conversation that is no turn of it: between runs, never within one.
   */
  | {
      readonly type: 'context';
      readonly operation: 'shrink' | 'summary' | 'trim';
      /** The window is nearly full, or the endpoint refused a request as too long. */
      readonly reason: 'window' | 'refused';
      /** How many the history has now. */
      readonly messages: number;
      /** Of the next request, by estimate. */
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly windowTokens?: number;
    }
  | {
      readonly type: 'context';
      readonly operation: 'replace' | 'switch' | 'compact' | 'restore';
      readonly operationId: string;
      readonly lane: string;
      readonly reason: string;
      readonly messages: number;
    }
  /** While tools run, at a steady beat, if one was asked for. */
  | { readonly type: 'tool-heartbeat'; readonly callIds: readonly string[] }
  /** A final text was held against the form it has to have. */
  | {
      readonly type: 'output-check';
      readonly status: 'passed' | 'refused';
      /** 1 for the first answer. */
      readonly attempt: number;
      readonly feedback?: string;
    }
  /** The run can be gone on with from here. */
  | {
      readonly type: 'checkpoint';
      readonly point: 'after-llm' | 'after-tools' | 'after-input' | 'terminal';
      /** Empty in a trace: it holds the whole run, and the agent's `checkpoint()` has the last one. */
      readonly token: string;
    }
  /** Something a person should know; `code` is for programs. */
  | { readonly type: 'notice'; readonly level: 'info' | 'warning'; readonly code: string; readonly text: string }
  /** Last event of a run. */
  | {
      readonly type: 'run-end';
      readonly reason: OutcomeReason;
      readonly answer: string;
      readonly turns: number;
      readonly usage: Usage;
      readonly proof: Proof;
      readonly durationMs: number;
      readonly error?: RunError;
    };

/** The stamp that the emitter puts on each body. */
export type EventStamp = {
  /** Format version. */
  readonly v: 1;
  /** Rises by one within a session, over all runs of it. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly runId: string;
  readonly parentRunId?: string;
  readonly worker: string;
};

export type AgentEvent = EventStamp & EventBody;

/**
 * A reader of the stream. It must not throw; if it does, or a promise of it rejects, it is dropped and the run goes on.
 * Nobody waits for the promise.
 */
export type EventSink = (event: AgentEvent) => void;
