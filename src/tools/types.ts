/** What a tool is, what it gets, and what it gives back. */
import type * as z from 'zod';
import type { Display, PlanStep, UserQuestion } from '../events/types.js';
import type { FileAccess } from '../permissions/file-access.js';
import type { Permission, Subject } from '../permissions/types.js';
import type { Workspace } from './workspace.js';

export type ToolOutput = {
  readonly ok: boolean;
  /** For the model. A failure says what went wrong and what to try next. */
  readonly output: string;
  /** For people. */
  readonly display?: Display | undefined;
  /** Machine-readable reason of a failure, kebab-case: `no-match`, `outside-workspace`, `timeout`, … */
  readonly code?: string | undefined;
  /** What the tool asks its surroundings to do or remember; an effect policy decides. */
  readonly effects?: readonly Effect[] | undefined;
  /** Whether running the same call once more may help. */
  readonly retryable?: boolean | undefined;
  /** Files changed, relative to the workspace root. */
  readonly touched?: readonly string[] | undefined;
  /** A command that ran, for the proof at the end. `exitCode` is null when a limit ended it. */
  readonly command?: { readonly command: string; readonly exitCode: number | null } | undefined;
};

/** Something a tool asks for beside its result: a state entry to set, or anything its user knows by `type`. */
export type Effect = { readonly type: string; readonly [field: string]: unknown };

/** A failure that a tool throws from deep inside; `execute.ts` turns it into a `ToolOutput` that is not ok. */
export class ToolFailure extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ToolFailure';
    this.code = code;
  }
}

export type DelegatedTask = { readonly worker: string; readonly task: string; readonly files?: readonly string[] };

export type DelegatedResult = {
  readonly worker: string;
  readonly status: 'done' | 'failed' | 'timed-out' | 'cancelled';
  /** The worker's answer, or what it had when it ended. */
  readonly text: string;
  /** Why it did not end with `done`, as a sentence. */
  readonly problem?: string;
  readonly filesChanged: readonly string[];
};

/** Keeps what files were before they change, so that a turn can be undone. Writes of tools go through `Workspace` anyway. */
export type ChangeKeeper = {
  /**
   * Runs a command that may change any file of the workspace, with a look at the files before and after it.
   * `touched`: what it changed, relative to the root. `notes`: for the model and the person, e.g. what was not kept.
   * `goesOn`: resolves at the end of what still runs after `run`, for one more look; undefined where nothing does.
   */
  aroundCommand<Result>(
    command: string,
    run: () => Promise<Result>,
    goesOn?: (result: Result) => Promise<unknown> | undefined,
  ): Promise<{ readonly result: Result; readonly touched: readonly string[]; readonly notes: readonly string[] }>;
};

/** What a tool may use while it runs. All effects reach it through here. */
export type ToolContext = {
  readonly workspace: Workspace;
  /** The id of the call that is run; absent where it is none of a model's. */
  readonly callId?: string;
  /** Aborts on cancel and on the worker's deadline; a tool that waits must listen to it. */
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Shows output while the tool runs; the model does not get it. */
  readonly update: (text: string) => void;
  /** The whole environment of child processes: an allow-list without keys. */
  readonly childEnvironment: Readonly<Record<string, string>>;
  /** Makes a folder (mode 0700) for output that is too long to hand over; the same one for the whole run. */
  readonly spoolDirectory: () => Promise<string>;
  /** Replaces known secret values. */
  readonly mask: (text: string) => string;
  /** What the library user gives to tools, for one run or all. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Shared by all tools and the library user; lasts over rounds and runs. */
  readonly state?: Map<string, unknown>;
  /**
   * For a file or folder (absolute, real) that a walk comes by: what is not `free` must not be shown to the model, and of
   * what is `forbidden` not even the name. Absent: only names that tell of secrets count.
   */
  readonly fileAccess?: (path: string) => FileAccess;
  /** Absent where nothing is kept. */
  readonly changes?: ChangeKeeper;
  /** Asks the person; undefined: they gave no answer. Absent where nobody can be asked. */
  readonly askUser?: (question: UserQuestion, signal: AbortSignal) => Promise<string | undefined>;
  /**
   * What the policy says of something else that the call under way turns out to be about, such as the host that a
   * redirect leads to. Nobody is asked. Absent where there is no policy.
   */
  readonly judge?: (subject: Subject) => 'allow' | 'ask' | 'deny';
  /** Keeps the worker's plan in place of the one before, and tells it. Absent where nobody keeps one. */
  readonly keepPlan?: (steps: readonly PlanStep[]) => void;
  /** Runs workers; absent where delegation is not allowed. */
  readonly delegate?: (tasks: readonly DelegatedTask[]) => Promise<readonly DelegatedResult[]>;
};

/**
 * A tool. `parallel` calls may run side by side, `path` ones too as long as their paths differ, `serial` ones alone.
 * `run` gets arguments that passed `schema`, after the policy allowed the call. A throw becomes a failed result.
 */
export type Tool<Input = unknown> = {
  readonly name: string;
  /** For the model: when to use it, when not, limits. */
  readonly doc: string;
  readonly permission: Permission;
  readonly concurrency: 'parallel' | 'path' | 'serial';
  /** Has a time limit of its own, or none on purpose: the general one of a run does not bind it. */
  readonly ownTimeout?: boolean;
  /** Without transforms, so that it can be printed as JSON Schema. */
  readonly schema: z.ZodType<Input>;
  /** What the call is about: for the policy, the timeline and the path locks. Relative paths as given. */
  subjects(input: Input): readonly Subject[];
  /** One line for people on what the call is about, where its subjects do not say it. */
  title?(input: Input): string;
  /**
   * What the call would change, for the person who is asked. Changes nothing.
   * @throws {ToolFailure} when the call can't succeed anyway: then nobody is asked.
   */
  preview?(input: Input, context: ToolContext): Promise<Display | undefined>;
  run(input: Input, context: ToolContext): Promise<ToolOutput>;
  /** Ends what outlives its calls, when nobody will call it any more. Gives what it had to end, as sentences. */
  close?(): Promise<readonly string[]>;
};

/** Ties a tool's `run` to its schema's type, and forgets the type again for the registry. */
export function defineTool<Schema extends z.ZodType>(tool: Tool<z.output<Schema>> & { readonly schema: Schema }): Tool {
  return tool as Tool;
}
