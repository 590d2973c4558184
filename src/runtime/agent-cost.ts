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
 * @throws {ConfigError} where there is a cost limit and no price to keep it by: it must not look as if it held.
 */
export function costOfAgent({ price, model = '', limits = {} }: AgentOptions, tableCostOf: CostOf): CostOf {
  const costOf: CostOf = price === undefined ? tableCostOf : (usage) => costAt(usage, price);
  const { maxCostUsd = Number.POSITIVE_INFINITY } = limits;
  if (maxCostUsd === Number.POSITIVE_INFINITY || costOf(NO_USAGE, model) !== undefined) return costOf;
  const hint = 'Give `price` (USD per million tokens), or limit tokens: limits.maxTokens.';
  const whose = model === '' ? 'the model' : model;
  throw new ConfigError(`limits.maxCostUsd is set, but the price of ${whose} is not known.`, { hint });
}

function costAt({ promptTokens, completionTokens }: Usage, price: GivenPrice): number {
  return (promptTokens * price.inputUsdPerMillion + completionTokens * price.outputUsdPerMillion) / 1_000_000;
}
