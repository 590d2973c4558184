/** The endpoints that chatcli knows by name. Data; choosing among them is config's job. */

/**
 * How the reasoning of earlier replies goes back: not at all, as the text field of that name (`reasoning` as the
 * endpoint's own `reasoning_details` where it gave some), or as Mistral's parts of the content.
 */
export type ReasoningForm = 'none' | 'reasoning_content' | 'reasoning' | 'thinking-parts';

/** `auto`: where the preset says so, and as the endpoint asks for; else always or never. */
export type ReasoningSetting = 'auto' | 'always' | 'never';
/** Which API to ask: `auto` goes by the model, and by what the endpoint says. */
export const OPENAI_APIS = ['chat', 'responses', 'auto'] as const;

export type OpenaiApi = (typeof OPENAI_APIS)[number];

/** How tools are offered to a model. */
export const TOOL_PROTOCOLS = ['auto', 'native', 'text'] as const;

export type ToolProtocol = (typeof TOOL_PROTOCOLS)[number];

export type Preset = {
  readonly name: string;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Where the same API is served, too. */
  readonly otherHosts?: readonly string[];
  /** The variable of its key; absent: it needs none. */
  readonly keyVariable?: string;
  /** What is asked where no model is set; absent: one has to be. */
  readonly defaultModel?: string;
  /** Where it listens on this machine by default, so that it can be looked for. */
  readonly local?: { readonly port: number };
  /** How reasoning goes back. What needs it, and what refuses it, is said beside each endpoint. */
  readonly reasoning: ReasoningForm;
  /** The form it would take where a person wants it sent all the same; `reasoning_content` by default. */
  readonly reasoningIfAsked?: Exclude<ReasoningForm, 'none'>;
  /** Whether its list of models tells their windows; local servers are asked anyway. */
  readonly tellsWindow?: true;
  /** Its name for the limit of a reply, where it is not `max_tokens`. */
  readonly tokensField?: 'max_completion_tokens';
  /** Its models that are asked through the Responses API unless somebody says otherwise. */
  readonly responsesModels?: readonly ResponsesModels[];
};

export type ResponsesModels = { readonly pattern: RegExp; readonly because: string };

/**
 * From OpenAI's error messages for these models, as public issue threads quote them up to September 2026. What is
 * missing here is asked through Chat Completions first, and switches on the endpoint's own word.
 */
const OPENAI_RESPONSES_MODELS: readonly ResponsesModels[] = [
  { pattern: /^(o\d|gpt-\d+(\.\d+)?)-pro(-|$)/, because: 'served by the Responses API alone' },
  { pattern: /^(gpt-\d+(\.\d+)?-codex|codex-)/, because: 'served by the Responses API alone' },
  { pattern: /-deep-research(-|$)|^computer-use-/, because: 'served by the Responses API alone' },
  {
    pattern: /^gpt-(5\.([4-9]|\d\d)|[6-9]|\d\d)(?!\d)/,
    because: 'Chat Completions refuses tools for them, unless reasoning is off (gpt-5.4: unless none is asked for)',
  },
];

/** In the order in which a key that is set chooses one. Facts about reasoning: their documentation, mid 2026. */
export const PRESETS: readonly Preset[] = [
  {
    name: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    keyVariable: 'OPENAI_API_KEY',
    defaultModel: 'gpt-5.4',
    reasoning: 'none', // Chat Completions never gives it out.
    tokensField: 'max_completion_tokens',
    responsesModels: OPENAI_RESPONSES_MODELS,
  },
  {
    name: 'openrouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariable: 'OPENROUTER_API_KEY',
    tellsWindow: true,
    reasoning: 'reasoning', // Wanted by the models behind it that sign it or insist on it; others get it dropped.
  },
  local('ollama', 11_434, 'reasoning'), // Hands it to the model's template, e.g. of gpt-oss.
  local('lmstudio', 1_234, 'none'),
  local('llamacpp', 8_080, 'none'), // Takes it, but templates such as gpt-oss's fail on thinking beside a text.
  local('vllm', 8_000, 'reasoning'), // Wanted for interleaved thinking (Kimi K2, MiniMax M2); dropped by other templates.
  {
    name: 'groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariable: 'GROQ_API_KEY',
    tellsWindow: true,
    reasoning: 'none', // 400: "property 'reasoning_content' is unsupported"; `reasoning` only for models that reason.
    reasoningIfAsked: 'reasoning',
  },
  {
    name: 'deepseek',
    baseUrl: 'https://api.deepseek.com/v1',
    keyVariable: 'DEEPSEEK_API_KEY',
    defaultModel: 'deepseek-chat',
    reasoning: 'reasoning_content', // 400 where one assistant message of a request with tools lacks it.
  },
  {
    name: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariable: 'MISTRAL_API_KEY',
    tellsWindow: true,
    reasoning: 'none', // 422 for any field that it does not know; takes thinking as parts, and does without.
    reasoningIfAsked: 'thinking-parts',
  },
  // Its Chat Completions have no field for reasoning, and lose it without an error.
  { name: 'xai', baseUrl: 'https://api.x.ai/v1', keyVariable: 'XAI_API_KEY', reasoning: 'none' },
  {
    name: 'moonshot',
    baseUrl: 'https://api.moonshot.ai/v1',
    otherHosts: ['api.moonshot.cn'],
    keyVariable: 'MOONSHOT_API_KEY',
    tellsWindow: true,
    reasoning: 'reasoning_content', // 400: "reasoning_content is missing in assistant tool call message".
  },
  {
    name: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    keyVariable: 'GEMINI_API_KEY',
    defaultModel: 'gemini-2.5-flash',
    reasoning: 'none', // Its thought signatures go back with the calls that they came with.
  },
  {
    name: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    keyVariable: 'ANTHROPIC_API_KEY',
    defaultModel: 'claude-sonnet-4-6',
    reasoning: 'none', // The compatible API gives none out.
  },
];

/** The preset of that name, in any case. */
export function presetNamed(name: string): Preset | undefined {
  return PRESETS.find((preset) => preset.name === name.toLowerCase());
}

/** What is known of an endpoint: by its address, since any can be reached as `openai` with another base URL. */
export function presetFor(name: string, baseUrl: string): Preset | undefined {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : '';
  return PRESETS.find((preset) => !preset.local && hostsOf(preset).includes(host)) ?? presetNamed(name);
}

function hostsOf({ baseUrl, otherHosts = [] }: Preset): readonly string[] {
  return [new URL(baseUrl).hostname, ...otherHosts];
}

/** The form in which reasoning goes back to an endpoint, before it has said anything about it. */
export function reasoningFormOf(preset: Preset | undefined, setting: ReasoningSetting): ReasoningForm {
  if (setting === 'never' || preset === undefined) return setting === 'always' ? 'reasoning_content' : 'none';
  if (setting === 'auto' || preset.reasoning !== 'none') return preset.reasoning;
  return preset.reasoningIfAsked ?? 'reasoning_content';
}

function local(name: string, port: number, reasoning: ReasoningForm): Preset {
  return { name, baseUrl: `http://127.0.0.1:${port}/v1`, local: { port }, reasoning };
}
