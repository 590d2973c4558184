/**
 * Context windows and list prices of well-known models. Data, taken from models.dev and the makers' price lists in
 * October 2026; a price by tier or hour is given as its lowest tier and its list price. Unknown is said, never guessed.
 */
import type { Usage } from '../kernel/types.js';

/** USD per million tokens. */
export type Price = { readonly input: number; readonly cachedInput: number; readonly output: number };

export type KnownModel = {
  /** The beginning of its id, without the vendor's prefix. */
  readonly id: string;
  /** Absent: not known. */
  readonly contextTokens?: number;
  readonly price: Price;
};

/** Rows of `[id, contextTokens, input, cachedInput, output]`. */
const ROWS: readonly (readonly [string, number | null, number, number, number])[] = [
  ['gpt-4o', 128_000, 2.5, 1.25, 10],
  ['gpt-4o-2024-05-13', 128_000, 5, 5, 15],
  ['gpt-4o-mini', 128_000, 0.15, 0.075, 0.6],
  ['gpt-4.1', 1_047_576, 2, 0.5, 8],
  ['gpt-4.1-mini', 1_047_576, 0.4, 0.1, 1.6],
  ['gpt-4.1-nano', 1_047_576, 0.1, 0.025, 0.4],
  ['gpt-5', 400_000, 1.25, 0.125, 10],
  ['gpt-5-mini', 400_000, 0.25, 0.025, 2],
  ['gpt-5-nano', 400_000, 0.05, 0.005, 0.4],
  ['gpt-5.1', 400_000, 1.25, 0.125, 10],
  ['gpt-5.2', 400_000, 1.75, 0.175, 14],
  ['gpt-5.4', 1_050_000, 2.5, 0.25, 15],
  ['gpt-5.5', 1_050_000, 5, 0.5, 30],
  ['gpt-5.6', 1_050_000, 2, 0.2, 10],
  ['gpt-6-astra', 1_050_000, 10, 1, 50],
  ['o3', 200_000, 2, 0.5, 8],
  ['o3-mini', 200_000, 1.1, 0.55, 4.4],
  ['o4-mini', 200_000, 1.1, 0.275, 4.4],
  ['gpt-oss-120b', 131_072, 0.15, 0.075, 0.6],
  ['claude-3-5-haiku', 200_000, 0.8, 0.08, 4],
  ['claude-3-7-sonnet', 200_000, 3, 0.3, 15],
  ['claude-haiku-4-5', 200_000, 1, 0.1, 5],
  ['claude-sonnet-4', 200_000, 3, 0.3, 15],
  ['claude-sonnet-4-0', 200_000, 3, 0.3, 15],
  ['claude-sonnet-4-5', 200_000, 3, 0.3, 15],
  ['claude-sonnet-4-6', 1_000_000, 3, 0.3, 15],
  ['claude-sonnet-5', 1_000_000, 2, 0.2, 10],
  ['claude-sonnet-5-5', null, 2, 0.1, 10],
  ['claude-opus-4', 200_000, 15, 1.5, 75],
  ['claude-opus-4-0', 200_000, 15, 1.5, 75],
  ['claude-opus-4-1', 200_000, 15, 1.5, 75],
  ['claude-opus-4-5', 200_000, 5, 0.5, 25],
  ['claude-opus-4-6', 1_000_000, 5, 0.5, 25],
  ['claude-opus-4-7', 1_000_000, 5, 0.5, 25],
  ['claude-opus-4-8', 1_000_000, 5, 0.5, 25],
  ['claude-opus-5', 1_000_000, 5, 0.5, 25],
  ['claude-opus-5-5', null, 4, 0.2, 20],
  ['gemini-2.5-pro', 1_048_576, 1.25, 0.125, 10],
  ['gemini-2.5-flash', 1_048_576, 0.3, 0.03, 2.5],
  ['gemini-2.5-flash-lite', 1_048_576, 0.1, 0.01, 0.4],
  ['gemini-3-pro', 1_000_000, 2, 0.2, 12],
  ['gemini-3.5-flash', 1_048_576, 1.5, 0.15, 9],
  ['gemini-3.8-flash', 1_048_576, 0.75, 0.075, 3.75],
  ['deepseek-chat', 128_000, 0.28, 0.028, 0.42],
  ['deepseek-reasoner', 128_000, 0.28, 0.028, 0.42],
  ['grok-4', 256_000, 3, 0.75, 15],
  ['grok-4-fast', 2_000_000, 0.2, 0.05, 0.5],
  ['grok-4.5', 500_000, 2, 0.5, 6],
  ['grok-code-fast-1', 256_000, 0.2, 0.02, 1.5],
  ['mistral-large-latest', 262_144, 0.5, 0.5, 1.5],
  ['mistral-medium-latest', 262_144, 1.5, 1.5, 7.5],
  ['mistral-small-latest', 128_000, 0.1, 0.1, 0.3],
  ['kimi-k2.6', 262_144, 0.95, 0.16, 4],
  ['kimi-k3', 1_048_576, 3, 0.3, 15],
];

export const MODELS: readonly KnownModel[] = ROWS.map(([id, contextTokens, input, cachedInput, output]) => ({
  id,
  ...(contextTokens !== null && { contextTokens }),
  price: { input, cachedInput, output },
}));

/** How the ids of a maker's own models begin, by preset. One that serves the models of others has no entry. */
const OWN_MODELS: Readonly<Record<string, RegExp>> = {
  openai: /^(gpt-(?!oss)|o\d)/,
  anthropic: /^claude-/,
  gemini: /^gemini-/,
  deepseek: /^deepseek-/,
  xai: /^grok-/,
  mistral: /^mistral-/,
  moonshot: /^kimi-/,
};

/** The models of the table that the preset's own maker serves; none for a preset that serves those of others. */
export function knownModelsOf(preset: string): readonly KnownModel[] {
  const own = Object.hasOwn(OWN_MODELS, preset) ? OWN_MODELS[preset] : undefined;
  return own === undefined ? [] : MODELS.filter(({ id }) => own.test(id));
}

/** What follows a known id in one of its own versions: a date, a tag, `latest`; but not the number of another model. */
const OWN_VERSION = /^($|[@:]|-(latest|preview|\d{4,}))/;

/**
 * The model of an id: `gpt-5-mini-2025-08-07` and `openai/gpt-5-mini` are `gpt-5-mini`. The longest known beginning
 * decides, and only before a version of its own: `gpt-5-codex` and `gpt-5.9` are not `gpt-5`.
 */
export function knownModel(model: string): KnownModel | undefined {
  const id = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  const candidates = MODELS.filter((known) => id.startsWith(known.id) && OWN_VERSION.test(id.slice(known.id.length)));
  return candidates.reduce<KnownModel | undefined>(
    (best, known) => (best === undefined || known.id.length > best.id.length ? known : best),
    undefined,
  );
}

/** The price of a model, or undefined where it is not known. */
export function priceOf(model: string): Price | undefined {
  return knownModel(model)?.price;
}

/** What `usage` costs, in USD. Cached tokens are a part of the prompt's, with a price of their own. */
export function costOf(usage: Usage, price: Price): number {
  const cachedTokens = Math.min(usage.cachedTokens, usage.promptTokens);
  const freshTokens = usage.promptTokens - cachedTokens;
  return (freshTokens * price.input + cachedTokens * price.cachedInput + usage.completionTokens * price.output) / 1e6;
}
