/** The words of the policy. */
import type { ToolResult } from '../kernel/types.js';

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

/** `shell(npm test)` taken apart: tool names it covers, and what is between the parentheses (undefined: anything). */
export type Rule = {
  readonly text: string;
  readonly tools: readonly string[];
  readonly spec: string | undefined;
};

export type RuleSet = {
  readonly allow: readonly Rule[];
  readonly deny: readonly Rule[];
};

/** How a request that was refused can be allowed where the policy is used, as sentences. */
export type HowToAllow = (
  request: Request,
  about: {
    /** Only an answer, or a rule for the very command, frees it. */
    readonly isGuarded: boolean;
    /** Absolute: the folder in which rules with a command count. */
    readonly root: string;
    readonly rules: RuleSet;
  },
) => string;

export type Decision =
  /** `onlyReads`: a command that, by the read-only table, does no more than a read. */
  | { readonly kind: 'allow'; readonly rule?: string; readonly onlyReads?: boolean }
  | { readonly kind: 'ask'; readonly reason: string; readonly rule?: string }
  | {
      readonly kind: 'deny';
      /** As a sentence, with what would allow it. */
      readonly reason: string;
      /** The rule or mode that decided, e.g. `mode read-only`. */
      readonly rule: string;
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
  readonly kind: 'deny' | 'ask' | 'allow';
  readonly text: string;
  /** `FILE:LINE`, for messages. */
  readonly source: string;
  readonly scope: 'user' | 'project';
  readonly reason?: string;
  /** Requests that it must, and must not, fit, written as a rule: checked when it is loaded. */
  readonly match?: readonly string[];
  readonly notMatch?: readonly string[];
};
