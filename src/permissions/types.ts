/** The words of the policy. */
import type { ToolResult } from '../kernel/types.js';
import type { PathGlob } from './path-glob.js';
import type { Place } from './place.js';

export const APPROVAL_MODES = ['read-only', 'ask', 'auto-edit', 'full-auto'] as const;
export type ApprovalMode = (typeof APPROVAL_MODES)[number];

/** Whether commands run in a sandbox: where the mode builds on it, all of them or none at all, or none. */
export const SANDBOX_SETTINGS = ['auto', 'required', 'off'] as const;
export type SandboxSetting = (typeof SANDBOX_SETTINGS)[number];

/** The class of a tool: what it can do to the world. */
export type Permission = 'read' | 'write' | 'execute' | 'network' | 'meta';

/** What a tool call is about, as far as the policy needs to know. */
export type Subject =
  | { readonly kind: 'path'; readonly path: string }
  | {
      readonly kind: 'command';
      readonly command: string;
      readonly cwd: string;
      /** The shell that it is for, by a name for people, where that is none that can be read: then it counts only as a whole. */
      readonly shell?: string | undefined;
    }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'none' };

/** A tool call as the policy sees it. */
export type Request = {
  readonly tool: string;
  readonly permission: Permission;
  readonly subjects: readonly Subject[];
};

export type RuleKind = 'deny' | 'ask' | 'allow';

/** Where a rule comes from: its kind for programs, and its place for people (`--allowed-tools`, `FILE:LINE`). */
export type RuleSource = {
  readonly kind: 'flag' | 'session' | 'stored' | 'settings';
  readonly place: string;
};

/** What a rule has between its parentheses. */
export type RuleSpec =
  | {
      readonly kind: 'command';
      /** The command as it is written. */
      readonly text: string;
      /** Its words, of which the first ones have to be there if `isOpen`; undefined where only the very text counts. */
      readonly words: readonly string[] | undefined;
      readonly isOpen: boolean;
    }
  | { readonly kind: 'path'; readonly text: string; readonly glob: PathGlob }
  | { readonly kind: 'host'; readonly text: string; readonly host: string; readonly isBelow: boolean };

/** `shell(npm test)` taken apart. */
export type Rule = {
  /** As it was written. */
  readonly text: string;
  /** The names of the tools that it covers. */
  readonly tools: readonly string[];
  /** Undefined: every call of these tools. */
  readonly spec: RuleSpec | undefined;
  readonly source: RuleSource;
  /** Why it is there, in the words of who wrote it. */
  readonly reason?: string;
};

/** In this order: what is denied is denied, whatever else fits it, then what is asked for. */
export type RuleSet = Readonly<Record<RuleKind, readonly Rule[]>>;

/** How a request that was refused can be allowed where the policy is used, as sentences. */
export type HowToAllow = (
  request: Request,
  about: {
    /** Only an answer, or a rule that names this very thing, frees it. */
    readonly isGuarded: boolean;
    /** No rule frees it at all. */
    readonly isFixed: boolean;
    /** Where rules count. */
    readonly place: Place;
    readonly rules: RuleSet;
  },
) => string;

/** The rule that a decision comes from, and where it stands. */
export type MatchedRule = { readonly rule: string; readonly source: string };

export type Decision =
  /** `onlyReads`: a command that, by the read-only table, does no more than a read. */
  | {
      readonly kind: 'allow';
      readonly rule?: string;
      readonly source?: string;
      readonly onlyReads?: boolean;
    }
  | {
      readonly kind: 'ask';
      readonly reason: string;
      /** The rule that "this session" would add. */
      readonly rule?: string;
      /** The narrowest rule, which "always" would store; absent where it must never be stored. */
      readonly storedRule?: string;
      /** The rule that asks. */
      readonly matched?: MatchedRule;
    }
  | {
      readonly kind: 'deny';
      /** As a sentence, with what would allow it. */
      readonly reason: string;
      /** The rule or mode that decided, e.g. `mode read-only`. */
      readonly rule: string;
      readonly source?: string;
    };

/** A refused call, as the JSON result lists it. */
export type Denial = Pick<ToolResult, 'callId'> & {
  readonly tool: string;
  readonly permission: Permission;
  readonly subject: string;
  readonly rule: string;
  readonly reason: string;
};

/** A rule as a settings file holds it, before its grammar is read. */
export type RuleText = {
  readonly kind: RuleKind;
  readonly text: string;
  /** `FILE:LINE`, for messages. */
  readonly source: string;
  readonly scope: 'user' | 'project';
  readonly reason?: string;
  /** Requests that it must, and must not, fit, written as a rule: checked when it is loaded. */
  readonly match?: readonly string[];
  readonly notMatch?: readonly string[];
};
