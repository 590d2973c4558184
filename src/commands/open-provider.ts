/** The provider that the configuration chose, ready to be asked; or a local server, where nothing was chosen. */
import { readFile } from 'node:fs/promises';
import type { Config } from '../config/config.js';
import { ConfigError, messageOf } from '../errors.js';
import type { Usage } from '../kernel/types.js';
import { apiSwitch, presetNeedsResponses } from '../providers/api-switch.js';
import { type ContextWindow, createContextWindows } from '../providers/context-window.js';
import type { ClosableProvider } from '../providers/endpoint.js';
import { withFallback } from '../providers/fallback.js';
import { findLocalServers, listModels } from '../providers/local.js';
import { costOf, priceOf } from '../providers/models.js';
import { presetFor, reasoningFormOf } from '../providers/presets.js';
import { withRetry } from '../providers/retry.js';
import { withTextProtocol } from '../providers/text-protocol.js';
import type { Provider } from '../providers/types.js';
import type { Io } from './io.js';
import { type Network, networkFor } from './network.js';

export type OpenedProvider = {
  readonly provider: Provider;
  /** The model that is asked where neither a flag nor a worker names another. */
  readonly model: string;
  /** USD of one reply; undefined where the model's price is not known. */
  readonly costOf: (usage: Usage, model: string) => number | undefined;
  /** The window of a model. Asks the endpoint at the first call, where it has to: see `createContextWindows`. */
  readonly contextWindow: (model: string) => Promise<ContextWindow>;
  readonly close: () => void;
};

const MODELS_TIMEOUT_MS = 5000;

type Endpoint = { readonly name: string; readonly baseUrl: string; readonly apiKey: string; readonly model?: string };

/**
 * Opens the provider. Nothing is sent yet, but for the question which models a local server has.
 * @throws {ConfigError} when there is no provider, no model, a script that can't be read, or a cost limit without prices.
 */
export async function openProvider(config: Config, io: Io): Promise<OpenedProvider> {
  const choice = config.provider;
  if (choice.kind === 'scripted') return openScripted(choice, config, io);
  const endpoint = choice.kind === 'none' ? await findEndpoint(choice.model) : choice;
  const network = await networkFor(config, endpoint);
  const model = endpoint.model ?? (await firstModel(endpoint, network));
  const cost = costFunction(config);
  for (const asked of [model, ...config.models.fallbacks]) refuseUnknownPrice(config, asked, cost);

  const client = await openClient(endpoint, network, config, io);
  const { name, baseUrl, apiKey } = endpoint;
  const contextWindow = createContextWindows({
    setting: config.models.contextWindow,
    endpoint: { name, baseUrl, apiKey, network },
  });
  const provider = completed(client, config, io);
  return { provider, model, costOf: cost, contextWindow, close: () => client.close() };
}

async function openClient(
  endpoint: Endpoint,
  network: Network,
  { openaiApi, requests }: Config,
  io: Io,
): Promise<ClosableProvider> {
  const { name, baseUrl, apiKey } = endpoint;
  const preset = presetFor(name, baseUrl);
  const { firstByteTimeoutMs, idleTimeoutMs, sendReasoning } = requests;
  const keyVariable = preset?.keyVariable && { keyVariable: preset.keyVariable };
  const common = { name, baseUrl, apiKey, ...keyVariable, ...network, firstByteTimeoutMs, idleTimeoutMs, now: io.now };
  // The SDK is loaded by the first run that needs it, not by those that only print help or fail before, and of it only
  // the API that is asked.
  const open = {
    chat: async () => {
      const { openaiChat } = await import('../providers/openai-chat.js');
      return openaiChat({
        ...common,
        reasoning: reasoningFormOf(preset, sendReasoning),
        isReasoningFixed: sendReasoning !== 'auto',
        ...(preset?.tokensField && { tokensField: preset.tokensField }),
      });
    },
    responses: async () => {
      const { openaiResponses } = await import('../providers/openai-responses.js');
      return openaiResponses(common);
    },
  };
  if (openaiApi !== 'auto') return open[openaiApi]();
  return apiSwitch({ name, needsResponses: presetNeedsResponses(preset, baseUrl), open });
}

async function openScripted(
  { scriptPath, model }: { readonly scriptPath: string; readonly model: string },
  config: Config,
  io: Io,
): Promise<OpenedProvider> {
  const { createScriptedProvider, parseScript } = await import('../providers/scripted.js');
  let text: string;
  try {
    text = await readFile(scriptPath, 'utf8');
  } catch (cause) {
    throw new ConfigError(`The script of the scripted provider can't be read: ${messageOf(cause)}`, {
      cause,
      hint: 'Check CHATCLI_SCRIPT.',
    });
  }
  const provider = createScriptedProvider(parseScript(text, scriptPath));
  const contextWindow = createContextWindows({ setting: config.models.contextWindow });
  return {
    provider: completed(provider, config, io),
    model,
    costOf: () => 0,
    contextWindow,
    close: () => undefined,
  };
}

/**
 * Patience goes around the protocol: a reply that breaks off is read anew from its first character. Another model is
 * asked when patience is at its end.
 */
function completed(provider: Provider, { toolProtocol, requests, models }: Config, { now }: Io): Provider {
  const protocol = withTextProtocol(provider, { mode: toolProtocol });
  const patient = withRetry(protocol, { maxAttempts: requests.maxRetries + 1, now });
  return models.fallbacks.length === 0 ? patient : withFallback(patient, models.fallbacks);
}

async function findEndpoint(model: string | undefined): Promise<Endpoint> {
  const [server] = await findLocalServers();
  if (server === undefined) throw noProvider();
  const [first] = server.models;
  const wanted = model ?? first;
  return {
    name: server.preset,
    baseUrl: server.baseUrl,
    apiKey: 'none',
    ...(wanted !== undefined && { model: wanted }),
  };
}

function noProvider(): ConfigError {
  return new ConfigError('No provider is configured, and no local server answers.', {
    hint: [
      'Three ways to go on:',
      '  export OPENAI_API_KEY=sk-...                                  # OpenAI; other presets have their own variable',
      '  export OPENAI_BASE_URL=http://host:8000/v1 OPENAI_MODEL=name  # any OpenAI-compatible endpoint',
      '  ollama serve & ollama pull qwen3                              # a local model; it is found by itself',
    ].join('\n'),
  });
}

/** The first model that an endpoint offers, for one that is not a preset's own and so has no default. */
async function firstModel({ name, baseUrl, apiKey }: Endpoint, network: Network): Promise<string> {
  const [model] = (await listModels({ baseUrl, apiKey, timeoutMs: MODELS_TIMEOUT_MS, network })) ?? [];
  if (model !== undefined) return model;
  throw new ConfigError(`No model is set, and ${name} at ${baseUrl} names none.`, {
    hint: 'Set OPENAI_MODEL, or pass -m MODEL.',
  });
}

function costFunction({ price }: Config): OpenedProvider['costOf'] {
  return (usage, model) => {
    const known = priceOf(model);
    if (known !== undefined) return costOf(usage, known);
    if (price === undefined) return undefined;
    return (
      (usage.promptTokens * price.inputUsdPerMillion + usage.completionTokens * price.outputUsdPerMillion) / 1_000_000
    );
  };
}

/** A limit that could not be kept must not be taken. */
function refuseUnknownPrice(config: Config, model: string, cost: OpenedProvider['costOf']): void {
  const oneToken = {
    requests: 1,
    promptTokens: 1,
    completionTokens: 1,
    cachedTokens: 0,
    reasoningTokens: 0,
    totalTokens: 2,
  };
  if (config.run.maxCostUsd === undefined || cost(oneToken, model) !== undefined) return;
  throw new ConfigError(`A cost limit is set, but the price of ${model} is not known.`, {
    hint: 'Set CHATCLI_PRICE_INPUT and CHATCLI_PRICE_OUTPUT (USD per million tokens), or limit tokens: --max-tokens-total.',
  });
}
