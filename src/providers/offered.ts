/**
 * Which models an endpoint offers at `GET …/models`, with what it tells of them. The OpenAI form has names alone;
 * windows and prices stand under other names at each vendor, as their API references have it.
 */
import { type Asking, askJson } from './ask-json.js';
import { asRecord, type JsonRecord, recordsIn, textOf, windowIn } from './json.js';
import { askLocalKind, type LocalKind, localKindOf } from './local-kind.js';
import { localWindows } from './local-windows.js';
import type { Price } from './models.js';
import { presetNamed } from './presets.js';

/** Tokens; what is absent is not told. */
export type Window = {
  /** What the server takes as it runs now. */
  readonly contextTokens?: number;
  /** What the model could take, were it loaded so. */
  readonly mostContextTokens?: number;
};

export type OfferedModel = Window & { readonly id: string; readonly price?: Price };

export type Offer = {
  readonly models: readonly OfferedModel[];
  /** A server whose window is a setting of its own, most often a small one. */
  readonly localKind?: LocalKind;
};

export type OfferOptions = Asking & {
  /** The preset's name. */
  readonly name: string;
  /** Asked about this model alone, where a server has to be asked about each. */
  readonly model?: string;
};

/** The list, or why there is none. */
export async function offeredModels(options: OfferOptions): Promise<Offer | { readonly problem: string }> {
  const answer = await askJson(`${options.baseUrl}/models`, options);
  if ('problem' in answer) return answer;
  const data = asRecord(answer.value)?.data;
  if (!Array.isArray(data)) return { problem: `${options.baseUrl}/models holds no list of models.` };
  const records = recordsIn(data).filter(({ id }) => textOf(id) !== '');
  const models = records.map(modelOf);
  const isTold = models.some(({ contextTokens }) => contextTokens !== undefined);
  const isKnown = isTold || presetNamed(options.name)?.local !== undefined;
  const named = localKindOf(options.name, textOf(records[0]?.owned_by));
  const localKind = named ?? (isKnown ? undefined : await askLocalKind(options));
  if (localKind === undefined) return { models };
  const asked = models.map(({ id }) => id).filter((id) => options.model === undefined || isNamed(id, options.model));
  const windows = await localWindows(localKind, asked, options);
  return { localKind, models: models.map((model) => ({ ...model, ...windows.get(model.id) })) };
}

/** Whether a model of the list is the one of that name; Ollama leaves out the tag `latest`. */
export function isNamed(id: string, model: string): boolean {
  return id === model || id === `${model}:latest`;
}

function modelOf(record: JsonRecord): OfferedModel {
  const meta = asRecord(record.meta);
  const contextTokens =
    // OpenRouter's provider in use may take less than the model.
    windowIn(asRecord(record.top_provider)?.context_length) ||
    windowIn(record.context_length) || // OpenRouter, Moonshot, Together
    windowIn(record.max_model_len) || // vLLM
    windowIn(record.context_window) || // Groq
    windowIn(record.max_context_length) || // Mistral
    windowIn(record.max_input_tokens) || // Anthropic
    windowIn(meta?.n_ctx); // llama.cpp
  const mostContextTokens = windowIn(meta?.n_ctx_train);
  const price = priceIn(asRecord(record.pricing));
  return {
    id: textOf(record.id),
    ...(contextTokens > 0 && { contextTokens }),
    ...(mostContextTokens > 0 && { mostContextTokens }),
    ...(price && { price }),
  };
}

/** OpenRouter's form: USD per token, as texts; -1 where it varies. */
function priceIn(pricing: JsonRecord | undefined): Price | undefined {
  const [input, output] = [usdPerMillion(pricing?.prompt), usdPerMillion(pricing?.completion)];
  if (input === undefined || output === undefined) return undefined;
  return { input, output, cachedInput: usdPerMillion(pricing?.input_cache_read) ?? input };
}

function usdPerMillion(value: unknown): number | undefined {
  const text = textOf(value);
  const amount = text === '' ? Number.NaN : Number(text);
  // Rounded, since 0.0000025 × 1e6 is not quite 2.5.
  return Number.isFinite(amount) && amount >= 0 ? Math.round(amount * 1e12) / 1e6 : undefined;
}
