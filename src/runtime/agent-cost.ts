/** What a library agent's replies cost, and that a cost limit can be kept. The table of prices is handed in. */
import { ConfigError } from '../errors.js';
import { NO_USAGE } from '../kernel/step.js';
import type { Usage } from '../kernel/types.js';
import type { AgentOptions } from './agent-types.js';

/** USD of a usage; undefined where the price of the model is not known. */
export type CostOf = (usage: Usage, model: string) => number | undefined;

/** USD per million tokens. */
export type GivenPrice = { readonly inputUsdPerMillion: number; readonly outputUsdPerMillion: number };

/**
 * By the price that was given, else by the table.
 * @throws {ConfigError} for a price that is none, and where there is a cost limit and no price to keep it by: it must not
 * look as if it held.
 */
export function costOfAgent({ price, model = '', limits = {} }: AgentOptions, tableCostOf: CostOf): CostOf {
  if (price !== undefined && !isUsable(price)) {
    throw new ConfigError('`price` has to be two amounts of USD per million tokens, 0 or more.');
  }
  const costOf: CostOf = price === undefined ? tableCostOf : (usage) => costAt(usage, price);
  if (limits.maxCostUsd === undefined || costOf(NO_USAGE, model) !== undefined) return costOf;
  throw new ConfigError(
    `limits.maxCostUsd is set, but the price of ${model === '' ? 'the model' : model} is not known.`,
    {
      hint: 'Give `price` (USD per million tokens), or limit tokens: limits.maxTokens.',
    },
  );
}

function isUsable({ inputUsdPerMillion, outputUsdPerMillion }: GivenPrice): boolean {
  return [inputUsdPerMillion, outputUsdPerMillion].every((usd) => Number.isFinite(usd) && usd >= 0);
}

function costAt({ promptTokens, completionTokens }: Usage, price: GivenPrice): number {
  return (promptTokens * price.inputUsdPerMillion + completionTokens * price.outputUsdPerMillion) / 1_000_000;
}
