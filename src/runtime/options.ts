/** What a library user, or the REPL, may change about one run. The loop looks here; an absent field changes nothing. */
import type { Memory } from '../context/memory.js';
import type { Message, State, ToolCall, ToolResult } from '../kernel/types.js';
import type { ModelRequest } from '../providers/types.js';
import type { AttemptPolicy } from '../tools/attempts.js';
import type { Effect } from '../tools/types.js';
import type { EffectPolicy } from './effects.js';
import type { Inbox } from './steer.js';

export { type AttemptPolicy, DEFAULT_ATTEMPTS } from '../tools/attempts.js';

export type RunOptions = {
  /** The conversation before this task, without a system message. */
  readonly history?: readonly Message[];
  /** Goes on with a stored state in place of starting one. */
  readonly resumeFrom?: State;
  /** Where text typed during the run comes from. */
  readonly inbox?: Inbox;
  /** Judges a final text; a refusal goes back to the model, within `limits.maxOutputRetries`. */
  readonly checkAnswer?: (answer: string) => AnswerCheck | Promise<AnswerCheck>;
  /** What of an answer that passed `checkAnswer` is the outcome's; the whole by default. */
  readonly bareAnswer?: (answer: string) => string;
  /** May change each request before it leaves. What it returns as `tools` binds the execution of its calls as well. */
  readonly transformRequest?: TransformRequest;
  /** Told after each step, when the history is valid; awaited. */
  readonly onState?: (state: State, at: SafePoint) => void | Promise<void>;
  /** Decides order, concurrency and refusal of a round's calls, in place of `round.ts`. */
  readonly roundExecutor?: RoundExecutor;
  /** What of the history enters each request; all of it by default. */
  readonly memory?: Memory;
  /** Upper bound of each reply, in tokens. */
  readonly maxTokens?: number;
  /** False: each reply is asked for in one piece. */
  readonly stream?: false;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent with each request as they are, e.g. `temperature`. */
  readonly modelOptions?: Readonly<Record<string, unknown>>;
  /** A JSON Schema that replies have to fit, for endpoints that take one. */
  readonly responseSchema?: Readonly<Record<string, unknown>>;
  /** Longest gap between two pieces of a reply, in milliseconds; 0 or absent: none but the provider's own. */
  readonly idleTimeoutMs?: number;
  /** Whether a result of `load_skill` came from our own tool, so that a summary leaves it; all do by default. */
  readonly isLoadedSkill?: (result: Extract<Message, { role: 'tool' }>) => boolean;
  readonly attempts?: AttemptPolicy;
  /** Which effects of tools come about; without it they may set entries of the shared state, and nothing else. */
  readonly effects?: EffectOptions;
};

export type EffectOptions = {
  readonly policy: EffectPolicy;
  /** Told of each allowed effect that is not ours to carry out, in call order after the round; awaited. */
  readonly onEffect?: ((effect: Effect, callId: string) => void | Promise<void>) | undefined;
};

export type AnswerCheck = { readonly ok: true } | { readonly ok: false; readonly feedback: string };

/** Where a run can be stored: after a recorded reply, a recorded round, text that came in meanwhile; at its end. */
export type SafePoint = 'after-llm' | 'after-tools' | 'after-input' | 'terminal';

export type TransformRequest = (request: ModelRequest, state: State) => ModelRequest | Promise<ModelRequest>;

/**
 * Runs one round. `run` carries out one call with policy, approval and events, once at most, and what it gives stands; a
 * result that is yielded without it (a denial, say) counts as that call's result. Calls without a result get one that
 * says so. Results are recorded in call order, whatever order they are yielded in.
 */
export type RoundExecutor = (
  calls: readonly ToolCall[],
  run: (call: ToolCall) => Promise<ToolResult>,
  signal: AbortSignal,
) => AsyncIterable<ToolResult>;
