/** Every variable as data: the one source of validation, .env.example and the README's table. */
import type * as z from 'zod';
import { PRESETS } from '../providers/presets.js';
import { NETWORK_VARIABLES } from './schema-network.js';
import { TOOL_VARIABLES } from './schema-tools.js';
import {
  anyText,
  apiKey,
  boolean,
  duration,
  httpUrl,
  integer,
  line,
  logLevel,
  type TextType,
  usd,
  usdPerMillion,
} from './value-types.js';

/** Flags that set a variable, by commander's name. `envFile` is not here: it names a source, not a value. */
export type FlagName =
  | 'provider'
  | 'model'
  | 'maxTurns'
  | 'timeout'
  | 'maxRequests'
  | 'maxTokensTotal'
  | 'maxBudgetUsd'
  | 'approvalMode'
  | 'sandbox'
  | 'sandboxNetwork';

export type Variable = {
  readonly group: Group;
  readonly type: TextType<unknown>;
  /** As one would write it; validated like any other text. */
  readonly default?: string;
  /** One line; says the default in words where there is one that is not a text. */
  readonly help: string;
  /** Above all other sources. */
  readonly flag?: FlagName;
  /** Never shown, always masked. */
  readonly secret?: true;
  /** What of its text has to be masked, where that is not the whole; the text itself is never shown. */
  readonly secrets?: (text: string) => readonly string[];
  /** Also read in lower case, which wins, as other programs do. */
  readonly lowerCase?: true;
  /** Counts only in the real environment, never in an env file. */
  readonly environmentOnly?: true;
  /** Read by many programs, so that its presence in a project's `./.env` does not mean us. */
  readonly shared?: true;
};

/** In the order in which they are shown. */
export const GROUPS = {
  provider: 'Model and provider',
  keys: 'Keys of the presets',
  workers: 'Workers',
  limits: 'Limits and permissions of a run',
  network: 'Requests',
  output: 'Log and display',
  folders: 'Folders and files (real environment only)',
} as const;

export type Group = keyof typeof GROUPS;

const PRESET_NAMES = PRESETS.map(({ name }) => `\`${name}\``).join(', ');

const TURNS = integer(1, 10_000);

export const VARIABLES = {
  CHATCLI_PROVIDER: {
    group: 'provider',
    type: line,
    flag: 'provider',
    help: `${PRESET_NAMES} or \`scripted\`. Unset: what a base URL or a key below points to, else a local server.`,
  },
  CHATCLI_MODEL: {
    group: 'provider',
    type: line,
    flag: 'model',
    help: 'The model to ask; wins over `OPENAI_MODEL`. Unset: the default of the provider.',
  },
  OPENAI_MODEL: { group: 'provider', type: line, help: 'The model to ask, where `CHATCLI_MODEL` is not set.' },
  CHATCLI_API_KEY: {
    group: 'provider',
    type: apiKey,
    secret: true,
    help: "The key, for whichever provider is chosen; wins over that provider's own variable.",
  },
  OPENAI_API_KEY: {
    group: 'provider',
    type: apiKey,
    secret: true,
    help: 'The key of the provider `openai`. A server on this machine or network needs none.',
  },
  CHATCLI_BASE_URL: {
    group: 'provider',
    type: httpUrl,
    help: 'Where to send requests, for whichever provider is chosen; wins over `OPENAI_BASE_URL`.',
  },
  OPENAI_BASE_URL: {
    group: 'provider',
    type: httpUrl,
    help: 'Where the provider `openai` is: any OpenAI-compatible server, with its `/v1`.',
  },
  CHATCLI_SCRIPT: {
    group: 'provider',
    type: line,
    help: 'The JSON file with the replies of the provider `scripted`.',
  },

  OPENROUTER_API_KEY: presetKey('openrouter'),
  GROQ_API_KEY: presetKey('groq'),
  DEEPSEEK_API_KEY: presetKey('deepseek'),
  MISTRAL_API_KEY: presetKey('mistral'),
  XAI_API_KEY: presetKey('xai'),
  MOONSHOT_API_KEY: presetKey('moonshot'),
  GEMINI_API_KEY: presetKey('gemini'),
  ANTHROPIC_API_KEY: presetKey('anthropic'),

  CHATCLI_AGENT_WORKER_MAX_TURNS: {
    group: 'workers',
    type: TURNS,
    default: '30',
    flag: 'maxTurns',
    help: 'Model calls that every worker may make on its task, the lead included.',
  },
  CHATCLI_AGENT_WORKER_TIMEOUT: {
    group: 'workers',
    type: duration,
    default: '10m',
    help: 'Time that every worker may take for its task, the lead included.',
  },
  CHATCLI_AGENT_PARALLEL_MODE: {
    group: 'workers',
    type: boolean,
    default: 'true',
    help: 'Whether the lead may delegate. With `false` one worker is picked for the whole task.',
  },

  CHATCLI_MAX_REQUESTS: {
    group: 'limits',
    type: integer(1),
    flag: 'maxRequests',
    help: 'Model requests of all workers together. Unset: no limit.',
  },
  CHATCLI_MAX_TOKENS_TOTAL: {
    group: 'limits',
    type: integer(1),
    flag: 'maxTokensTotal',
    help: 'Tokens of all workers together, input and output. Unset: no limit.',
  },
  CHATCLI_MAX_BUDGET_USD: {
    group: 'limits',
    type: usd,
    flag: 'maxBudgetUsd',
    help: 'Cost of all workers together. Unset: no limit.',
  },
  CHATCLI_TIMEOUT: {
    group: 'limits',
    type: duration,
    flag: 'timeout',
    help: 'Time of the whole run. Unset: no limit but that of each worker.',
  },
  CHATCLI_PRICE_INPUT: {
    group: 'limits',
    type: usdPerMillion,
    help: 'US dollars per million input tokens, for a model whose price is not known. Only with the next one.',
  },
  CHATCLI_PRICE_OUTPUT: {
    group: 'limits',
    type: usdPerMillion,
    help: 'US dollars per million output tokens.',
  },

  ...TOOL_VARIABLES,

  ...NETWORK_VARIABLES,

  LOG_LEVEL: {
    group: 'output',
    type: logLevel,
    shared: true,
    help: '`debug`, `info`, `warn`, `error` or `silent`. Unset: `info` with a log file, else `silent`.',
  },
  CHATCLI_LOG_FILE: {
    group: 'output',
    type: line,
    help: 'File to append the log to, as JSON lines. Unset: stderr.',
  },
  NO_COLOR: { group: 'output', type: anyText, shared: true, help: 'Any text: no colours.' },
  FORCE_COLOR: {
    group: 'output',
    type: anyText,
    shared: true,
    help: 'Any text: colours even off a terminal; `0` or `false`: none. `NO_COLOR` wins.',
  },

  CHATCLI_HOME: {
    group: 'folders',
    type: line,
    environmentOnly: true,
    help: 'One folder for everything, in place of the config, data, state and cache folders of the system.',
  },
  CHATCLI_DOTENV: {
    group: 'folders',
    type: line,
    environmentOnly: true,
    help: 'One more env file to read. It wins over the one in the config folder; `--env-file` wins over both.',
  },
} as const satisfies Readonly<Record<string, Variable>>;

export type VariableName = keyof typeof VARIABLES;

/** What may be set for one worker alone. */
export type WorkerOverride = {
  readonly model?: string;
  readonly maxTurns?: number;
  readonly timeoutMs?: number;
};

/** Variables of one worker: `CHATCLI_AGENT_<NAME>_` and the suffix. */
export const WORKER_VARIABLES = {
  model: {
    suffix: 'MODEL',
    type: line,
    help: 'The model of one worker. The name in capitals, with `_` for `-`; here and below.',
  },
  maxTurns: { suffix: 'MAX_TURNS', type: TURNS, help: 'The turns of one worker, in place of the general limit.' },
  timeoutMs: { suffix: 'TIMEOUT', type: duration, help: 'The time of one worker, in place of the general limit.' },
} as const satisfies Readonly<
  Record<keyof WorkerOverride, { suffix: string; type: TextType<string | number>; help: string }>
>;

export type WorkerField = keyof typeof WORKER_VARIABLES;

type ValueOf<V extends { readonly type: z.ZodType }> = z.output<V['type']>;

/** The values by variable; undefined where nothing is set and there is no default. */
export type Values = {
  readonly [Name in VariableName]: (typeof VARIABLES)[Name] extends { readonly default: string }
    ? ValueOf<(typeof VARIABLES)[Name]>
    : ValueOf<(typeof VARIABLES)[Name]> | undefined;
};

/** The name in the table for one in an environment: some count in lower case, too. */
export function canonicalName(name: string): string {
  const upper = name.toUpperCase();
  if (name !== upper.toLowerCase() || !isVariable(upper)) return name;
  const variable: Variable = VARIABLES[upper];
  return variable.lowerCase ? upper : name;
}

/** Whether a name is one of the fixed variables. */
export function isVariable(name: string): name is VariableName {
  return Object.hasOwn(VARIABLES, name);
}

/** Which worker and field a variable such as `CHATCLI_AGENT_CODER_MAX_TURNS` is for; undefined for any other name. */
export function workerVariable(name: string): { worker: string; field: WorkerField } | undefined {
  for (const field of Object.keys(WORKER_VARIABLES) as WorkerField[]) {
    const pattern = new RegExp(`^CHATCLI_AGENT_([A-Z0-9]+(?:_[A-Z0-9]+)*)_${WORKER_VARIABLES[field].suffix}$`);
    const named = pattern.exec(name)?.[1];
    // CHATCLI_AGENT_WORKER_… are the general variables.
    if (named === undefined || /^WORKER(_|$)/.test(named)) continue;
    return { worker: named.toLowerCase().replaceAll('_', '-'), field };
  }
  return undefined;
}

/** Whether an env file may set this name. */
export function isFileVariable(name: string): boolean {
  const known = canonicalName(name);
  if (!isVariable(known)) return workerVariable(name) !== undefined;
  const variable: Variable = VARIABLES[known];
  return variable.environmentOnly !== true;
}

/** `--max-turns` for `maxTurns`. */
export function flagText(flag: string): string {
  return `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function presetKey(preset: string) {
  return { group: 'keys', type: apiKey, secret: true, help: `The key of the provider \`${preset}\`.` } as const;
}
