/** One budget for a whole tree of workers, checked before each model request. */
import { addUsage, NO_USAGE } from '../kernel/step.js';
import type { Usage } from '../kernel/types.js';

/** Upper bounds; absent: none. */
export type BudgetLimits = {
  readonly maxRequests?: number;
  readonly maxTokens?: number;
  readonly maxCostUsd?: number;
};

export type Budget = {
  /** Why no further request may leave, as a sentence; undefined while one may. */
  readonly exhausted: () => string | undefined;
  /** Counts a request that leaves, a retry too. */
  readonly countRequest: () => void;
  readonly addUsage: (usage: Usage, model: string) => void;
  /** `usage.requests` counts requests that left. `costUsd` is null once a model without a known price was used. */
  readonly totals: () => { readonly usage: Usage; readonly costUsd: number | null };
};

/** `costOf` gives the price of one reply in USD, or undefined where the model's price is not known. */
export function createBudget(
  limits: BudgetLimits,
  costOf: (usage: Usage, model: string) => number | undefined,
): Budget {
  let usage = NO_USAGE;
  let requests = 0;
  let costUsd: number | null = 0;

  function exhausted(): string | undefined {
    if (limits.maxRequests !== undefined && requests >= limits.maxRequests) {
      return `The budget of ${limits.maxRequests} model requests is used up.`;
    }
    if (limits.maxTokens !== undefined && usage.totalTokens >= limits.maxTokens) {
      return `The budget of ${limits.maxTokens} tokens is used up (${usage.totalTokens} used).`;
    }
    if (limits.maxCostUsd !== undefined && costUsd === null) {
      return `The budget of ${limits.maxCostUsd} USD can't be kept: the price of a model that was asked is not known.`;
    }
    if (limits.maxCostUsd !== undefined && costUsd !== null && costUsd >= limits.maxCostUsd) {
      return `The budget of ${limits.maxCostUsd} USD is used up (${costUsd.toFixed(4)} spent).`;
    }
    return undefined;
  }

  return {
    exhausted,
    countRequest: () => {
      requests += 1;
    },
    addUsage: (more, model) => {
      usage = addUsage(usage, more);
      const cost = costOf(more, model);
      costUsd = costUsd === null || cost === undefined ? null : costUsd + cost;
    },
    totals: () => ({ usage: { ...usage, requests }, costUsd }),
  };
}
