/** Decides which endpoint to ask, with which key and model. Probing local servers is the caller's job. */
import path from 'node:path';
import type { Preset } from '../providers/presets.js';
import { isPrivateHost } from './private-host.js';
import { badValue, type Origin, type Problem } from './problems.js';
import { flagText, isVariable, type Values } from './schema.js';

/** What the choice needs to know of a preset. */
export type ProviderPreset = Pick<Preset, 'name' | 'baseUrl' | 'keyVariable' | 'defaultModel'>;

export type ProviderChoice =
  | {
      readonly kind: 'endpoint';
      /** The preset's name. */
      readonly name: string;
      /** Without a slash at its end. */
      readonly baseUrl: string;
      /** `none` where the server needs no key: its client wants some text. */
      readonly apiKey: string;
      /** Absent for a server that is not the preset's own: ask it for its models. */
      readonly model?: string;
    }
  | { readonly kind: 'scripted'; readonly name: 'scripted'; readonly scriptPath: string; readonly model: string }
  /** Nothing is set up: look for a local server. `model` is what was asked for, if anything. */
  | { readonly kind: 'none'; readonly model?: string };

export const SCRIPTED = 'scripted';

export const NO_KEY = 'none';

/** What the choice needs to know besides the settings. */
export type ChoiceSources = {
  readonly presets: readonly ProviderPreset[];
  /** A relative script path counts from here. */
  readonly cwd: string;
  /** Where a missing key may be put, for the hint. */
  readonly envFile: string;
  /** Only its models are to be listed: a key and a model may be missing. */
  readonly isForListing?: boolean;
  /** Where the provider's name came from, for the complaint about it. */
  readonly nameOrigin: Origin;
};

type Choosing = { readonly choice: ProviderChoice } | { readonly problem: Problem };

/** The choice, or what keeps from choosing. */
export function chooseProvider(values: Values, sources: ChoiceSources): Choosing {
  const model = values.CHATCLI_MODEL ?? values.OPENAI_MODEL;
  const name = values.CHATCLI_PROVIDER?.toLowerCase() ?? impliedPreset(values, sources.presets);
  if (name === SCRIPTED) return scripted(values, model, sources.cwd);
  if (name === undefined) return { choice: { kind: 'none', ...(model && { model }) } };
  const preset = sources.presets.find((candidate) => candidate.name === name);
  return preset ? endpoint(values, preset, sources) : { problem: unknownProvider(name, sources) };
}

/** A base URL or a general key means `openai`; else the first preset whose own key is set, in the presets' order. */
function impliedPreset(values: Values, presets: readonly ProviderPreset[]): string | undefined {
  const meansOpenai =
    values.CHATCLI_BASE_URL ?? values.OPENAI_BASE_URL ?? values.CHATCLI_API_KEY ?? values.OPENAI_API_KEY;
  if (meansOpenai !== undefined) return 'openai';
  return presets.find((preset) => keyOf(values, preset) !== undefined)?.name;
}

function scripted(values: Values, model: string | undefined, cwd: string): Choosing {
  const script = values.CHATCLI_SCRIPT;
  if (script === undefined) return { problem: missingScript() };
  return {
    choice: { kind: 'scripted', name: SCRIPTED, scriptPath: path.resolve(cwd, script), model: model ?? SCRIPTED },
  };
}

function endpoint(values: Values, preset: ProviderPreset, { envFile, isForListing }: ChoiceSources): Choosing {
  // OPENAI_BASE_URL is often set for good: with another provider it must not redirect that provider's key.
  const ownUrl = preset.name === 'openai' ? values.OPENAI_BASE_URL : undefined;
  const baseUrl = values.CHATCLI_BASE_URL ?? ownUrl ?? preset.baseUrl;
  const isPrivate = isPrivateHost(baseUrl);
  const apiKey = values.CHATCLI_API_KEY ?? keyOf(values, preset);
  if (apiKey === undefined && preset.keyVariable !== undefined && !isPrivate && !isForListing) {
    return { problem: missingKey(preset.name, preset.keyVariable, envFile) };
  }
  // Behind another URL other models are served: the caller asks for their names.
  const isOwnUrl = baseUrl === preset.baseUrl;
  const model = values.CHATCLI_MODEL ?? values.OPENAI_MODEL ?? (isOwnUrl ? preset.defaultModel : undefined);
  if (model === undefined && isOwnUrl && !isPrivate && !isForListing) return { problem: missingModel(preset.name) };
  return {
    choice: { kind: 'endpoint', name: preset.name, baseUrl, apiKey: apiKey ?? NO_KEY, ...(model && { model }) },
  };
}

/** The preset's own key. Another provider's key is never sent to it. */
function keyOf(values: Values, preset: ProviderPreset): string | undefined {
  const name = preset.keyVariable;
  const value = name !== undefined && isVariable(name) ? values[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}

function missingScript(): Problem {
  return {
    variable: 'CHATCLI_SCRIPT',
    text: 'CHATCLI_SCRIPT is not set: the provider scripted takes its replies from that JSON file.',
    hint: 'Set CHATCLI_SCRIPT to the path of a script, or choose another provider.',
  };
}

function unknownProvider(name: string, { presets, nameOrigin }: ChoiceSources): Problem {
  return badValue({
    variable: 'CHATCLI_PROVIDER',
    value: name,
    origin: nameOrigin,
    flag: flagText('provider'),
    isSecret: false,
    allowed: [...presets.map((preset) => preset.name), SCRIPTED].join(', '),
  });
}

function missingKey(provider: string, variable: string, envFile: string): Problem {
  return {
    variable,
    text: `${variable} is not set: the provider ${provider} needs a key.`,
    hint: `Export ${variable}, put it in ${envFile}, or pass --env-file .env.`,
  };
}

function missingModel(provider: string): Problem {
  return {
    variable: 'OPENAI_MODEL',
    text: `OPENAI_MODEL is not set: the provider ${provider} has no default model.`,
    hint: 'Set OPENAI_MODEL, or pass -m NAME.',
  };
}
