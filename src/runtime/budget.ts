/** One budget for a whole tree of workers, checked before each model request. */
import { addUsage, NO_USAGE } from '../kernel/step.js';
import type { Usage } from '../kernel/types.js';

/** Upper bounds; absent: none. */
export type BudgetLimits = {
  readonly maxRequests?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly maxCostUsd?: number | undefined;
};

export type Budget = {
  /** Why no further request may leave, as a sentence; undefined while one may. */
  readonly exhausted: () => string | undefined;
  /** Counts a request that leaves, a retry too. */
  readonly countRequest: () => void;
  readonly addUsage: (usage: Usage, model: string) => void;
  /** Counts what a run had spent before it is gone on with. */
  readonly countEarlier: (usage: Usage, model: string) => void;
  /** `usage.requests` counts requests that left. `costUsd` is null once a model without a known price was used. */
  readonly totals: () => { readonly usage: Usage; readonly costUsd: number | null };
};

/** `costOf` gives the price of one reply in USD, or undefined where the model's price is not known. */
export function createBudget(
  limits: BudgetLimits,
  costOf: (usage: Usage, model: string) => number | undefined,
): Budget {
  const { maxCostUsd = Number.POSITIVE_INFINITY } = limits;
  let usage = NO_USAGE;
  let requests = 0;
  let costUsd: number | null = 0;
  let earlier = '';

  function exhausted(): string | undefined {
    if (limits.maxRequests !== undefined && requests >= limits.maxRequests) {
      return `The budget of ${limits.maxRequests} model requests is used up${earlier}.`;
    }
    if (limits.maxTokens !== undefined && usage.totalTokens >= limits.maxTokens) {
      return `The budget of ${limits.maxTokens} tokens is used up (${usage.totalTokens} used)${earlier}.`;
    }
    if (maxCostUsd === Number.POSITIVE_INFINITY) return undefined;
    if (costUsd === null) {
      return `The budget of ${maxCostUsd} USD can't be kept: the price of a model that was asked is not known.`;
    }
    if (costUsd >= maxCostUsd) {
      return `The budget of ${maxCostUsd} USD is used up (${costUsd.toFixed(4)} spent)${earlier}.`;
    }
    return undefined;
  }

  function add(more: Usage, model: string): void {
    usage = addUsage(usage, more);
    const cost = costOf(more, model);
    costUsd = costUsd === null || cost === undefined ? null : costUsd + cost;
  }

  return {
    exhausted,
    countRequest: () => {
      requests += 1;
    },
    addUsage: add,
    countEarlier: (spent, model) => {
      requests += spent.requests;
      add(spent, model);
      earlier = ', with what the run had spent before it was gone on with';
    },
    totals: () => ({ usage: { ...usage, requests }, costUsd }),
  };
}
