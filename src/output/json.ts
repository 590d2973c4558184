/** The machine-readable result: one object for `json`, the last line for `stream-json`. */
import type { ContextFill, EventSink } from '../events/types.js';
import type { Proof, Usage } from '../kernel/types.js';

export type ResultInput = {
  /** As `exit-codes.ts` names it; `success` is the only one that is no error. */
  readonly subtype: string;
  readonly exitCode: number;
  readonly result: string;
  /** The answer as a value, where a schema was asked for and it fits. */
  readonly structured?: { readonly value: unknown };
  readonly sessionId: string;
  readonly worker: string;
  readonly turns: number;
  readonly durationMs: number;
  readonly usage: Usage;
  /** Null where a price is not known. */
  readonly costUsd: number | null;
  /** The one that answered. */
  readonly model: string;
  /** From one model to another, in the order they happened. */
  readonly fallbacks: readonly { readonly from: string; readonly to: string; readonly reason: string }[];
  readonly denials: readonly {
    readonly tool: string;
    readonly subject: string;
    readonly rule: string;
    readonly reason: string;
  }[];
  readonly proof: Proof;
  readonly warnings: readonly string[];
  /** What filled the window of `worker` at its last request, and how often a history was made shorter: also those of its workers. */
  readonly context?: ContextFill & { readonly steps: number };
  readonly error?: { readonly kind: string; readonly message: string; readonly hint?: string };
};

/** The `result` object of DESIGN section 9, as JSON text without a newline. */
export function resultJson(input: ResultInput): string {
  return JSON.stringify({
    type: 'result',
    subtype: input.subtype,
    is_error: input.subtype !== 'success',
    exit_code: input.exitCode,
    result: input.result,
    ...(input.structured && { structured_result: input.structured.value }),
    session_id: input.sessionId,
    worker: input.worker,
    num_turns: input.turns,
    duration_ms: Math.round(input.durationMs),
    usage: usageJson(input.usage),
    total_cost_usd: input.costUsd,
    model: input.model,
    ...(input.fallbacks.length > 0 && {
      fallbacks: input.fallbacks.map(({ from, to, reason }) => ({ from, to, reason })),
    }),
    permission_denials: input.denials.map(({ tool, subject, rule, reason }) => ({ tool, subject, rule, reason })),
    proof: {
      files_changed: input.proof.filesChanged,
      commands_since_last_edit: input.proof.commandsSinceLastEdit.map(({ command, exitCode }) => ({
        command,
        exit_code: exitCode,
      })),
    },
    ...(input.context && { context: contextJson(input.context) }),
    warnings: input.warnings,
    ...(input.error && { error: input.error }),
  });
}

function usageJson(usage: Usage): Readonly<Record<string, number>> {
  return {
    requests: usage.requests,
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    cached_tokens: usage.cachedTokens,
    reasoning_tokens: usage.reasoningTokens,
    total_tokens: usage.totalTokens,
  };
}

function contextJson({ tokens, isEstimate, window, parts, steps }: NonNullable<ResultInput['context']>): object {
  return {
    tokens,
    estimated: isEstimate,
    ...(window && { window_tokens: window.tokens, window_source: window.source }),
    parts,
    shortened: steps,
  };
}

/** Writes each event as one line. */
export function createJsonLinesSink(write: (text: string) => void): EventSink {
  return (event) => write(`${JSON.stringify(event)}\n`);
}
