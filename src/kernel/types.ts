/** The words of the loop. Plain JSON data, no functions: a state can be stored after any step and read back. */

/** What an endpoint gives along and wants back as it was. Plain JSON that only the endpoint can read. */
export type Opaque = Readonly<Record<string, unknown>>;

/** A tool call as the model wrote it. `arguments` is JSON text; it may be broken, and is kept as it came. */
export type ToolCall = {
  /** Unique within the conversation, never empty: the runtime gives one where the provider did not. */
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** Goes back with the call: Gemini's thought signature, without which it refuses the next request. */
  readonly extra?: Opaque;
};

/**
 * What a provider wants back with a reply that it made, such as sealed reasoning. Nobody else looks into it, and a
 * message that was changed since is sent without it.
 */
export type Replay = {
  /** Which provider and API made it, e.g. `openai:responses`: no other is sent it. */
  readonly origin: string;
  /** JSON data in that provider's own form. */
  readonly items: readonly Opaque[];
};

export type Message =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      readonly content: string;
      readonly reasoning?: string;
      readonly toolCalls?: readonly ToolCall[];
      readonly replay?: Replay;
    }
  | { readonly role: 'tool'; readonly callId: string; readonly name: string; readonly content: string };

/** Token counts of one or more model requests. A count the provider did not report is 0. */
export type Usage = {
  readonly requests: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Part of `promptTokens` that the provider served from its cache. */
  readonly cachedTokens: number;
  /** Part of `completionTokens` that was spent on reasoning. */
  readonly reasoningTokens: number;
  readonly totalTokens: number;
};

/** Why a reply ended. `unknown` is a reason the provider gave that has no name here. */
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'unknown';

/** One whole model reply: the only form in which a model's words enter the kernel. */
export type Reply = {
  readonly text: string;
  readonly reasoning?: string;
  readonly toolCalls: readonly ToolCall[];
  readonly replay?: Replay;
  readonly finishReason: FinishReason;
  readonly usage: Usage;
};

/** What a tool call came to. `output` is the text the model reads. */
export type ToolResult = {
  readonly callId: string;
  readonly output: string;
  readonly ok: boolean;
  /** Machine-readable reason when not ok: `denied`, `bad-arguments`, `unknown-tool`, `timeout`, … */
  readonly code?: string;
  /** True when the policy or the person refused it: it did not run. */
  readonly denied?: boolean;
};

export type Limits = {
  /** Model calls, the summary at the end not counted. At least 1. */
  readonly maxTurns: number;
  /** How often an answer that was refused is asked for again; a budget of its own. 3 by default. */
  readonly maxOutputRetries?: number;
};

/** A failure that ended a run, as data. `kind` is the family member's name, e.g. `provider`. */
export type RunError = {
  readonly kind: string;
  /** Tells failures of one kind apart, where it matters: `expired`, of a checkpoint. */
  readonly code?: string;
  readonly message: string;
  readonly hint?: string;
};

export type OutcomeReason =
  | 'answered'
  | 'turn-limit'
  | 'timeout'
  | 'budget'
  | 'stuck'
  | 'denied'
  | 'interrupted'
  | 'failed';

/** A stage's judgement of an outcome. */
export type Verdict = {
  readonly stage: string;
  readonly kind: 'pass' | 'corrected' | 'fail';
  readonly reasons: readonly string[];
};

/** What the harness itself saw, whatever the model says: commands run after the last edit, files changed. */
export type Proof = {
  readonly filesChanged: readonly string[];
  readonly commandsSinceLastEdit: readonly { readonly command: string; readonly exitCode: number | null }[];
};

export type Outcome = {
  readonly reason: OutcomeReason;
  /** The model's final text; for a limit its partial summary; empty where there is none. */
  readonly answer: string;
  readonly turns: number;
  readonly usage: Usage;
  readonly verdicts: readonly Verdict[];
  readonly proof: Proof;
  readonly error?: RunError;
};

/** What the kernel asks its driver to do next. */
export type Action =
  | { readonly kind: 'reason'; readonly messages: readonly Message[]; readonly purpose: 'turn' | 'summary' }
  | { readonly kind: 'act'; readonly calls: readonly ToolCall[] }
  | { readonly kind: 'finish'; readonly end: End };

/** How a run ended, as far as the kernel knows; the loop makes an `Outcome` of it. */
export type End = {
  readonly reason: OutcomeReason;
  readonly answer: string;
  readonly error?: RunError;
};

/** Why a driver ends a run from outside. */
export type Stop = {
  readonly kind: 'stop';
  readonly reason: 'timeout' | 'budget' | 'interrupted' | 'failed' | 'denied';
  /** What had arrived of a reply that the stop dropped. */
  readonly text?: string;
  readonly error?: RunError;
};

/** What the driver saw after carrying out an action. */
export type Observation =
  | ({
      readonly kind: 'reply';
      /** What is wrong with the final text, for the model to mend: it is no answer then. */
      readonly refusal?: string;
      /** What came in while the final text was made: the run goes on with it instead of ending. */
      readonly followUps?: readonly string[];
    } & Reply)
  | { readonly kind: 'results'; readonly results: readonly ToolResult[] }
  /** What came in before a model call. */
  | { readonly kind: 'input'; readonly texts: readonly string[] }
  /**
   * A shorter history in the place of the one so far, made before a model call so that it fits the model's window.
   * `openingCount` as in `State`; `usage` is what making it cost.
   */
  | {
      readonly kind: 'context';
      readonly messages: readonly Message[];
      readonly openingCount: number;
      readonly usage?: Usage;
    }
  | Stop;

/** Repetition memory of `stuck.ts`. */
export type StuckMemory = {
  /** Fingerprints of every (call, result) pair and every final-less text seen. */
  readonly seen: readonly number[];
  /** How often each fingerprint came since something new was last seen. */
  readonly counts: Readonly<Record<string, number>>;
};

export type State = {
  readonly phase: 'reason' | 'act' | 'summary' | 'finished';
  readonly messages: readonly Message[];
  /** How many messages the run began with: what stands before them was not said in this run. */
  readonly openingCount: number;
  readonly limits: Limits;
  /** Model calls whose reply was recorded, the summary not counted. */
  readonly turns: number;
  readonly emptyReplies: number;
  /** Replies in a row that were cut off at their length limit. */
  readonly cutReplies: number;
  /** The pieces so far of an answer that was cut off, joined. */
  readonly cutAnswer: string;
  /** Answers that were refused. */
  readonly refusals: number;
  readonly usage: Usage;
  readonly stuck: StuckMemory;
  /** How often each call (name and arguments) was denied. */
  readonly denials: Readonly<Record<string, number>>;
  /** How the run ended, once it has. */
  readonly endedBy?: OutcomeReason;
};

export type Step = { readonly state: State; readonly action: Action };
