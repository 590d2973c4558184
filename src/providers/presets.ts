/** The endpoints that chatcli knows by name. Data; choosing among them is config's job. */

export type Preset = {
  readonly name: string;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** The variable of its key; absent: it needs none. */
  readonly keyVariable?: string;
  /** What is asked where no model is set; absent: one has to be. */
  readonly defaultModel?: string;
  /** Where it listens on this machine by default, so that it can be looked for. */
  readonly local?: { readonly port: number };
  /** Whether assistant messages with tool calls carry their `reasoning_content`: thinking models refuse them without. */
  readonly sendReasoning: boolean;
  /** Whether its list of models tells their windows; local servers are asked anyway. */
  readonly tellsWindow?: true;
  /** Its name for the limit of a reply, where it is not `max_tokens`. */
  readonly tokensField?: 'max_completion_tokens';
};

/** In the order in which a key that is set chooses one. */
export const PRESETS: readonly Preset[] = [
  {
    name: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    keyVariable: 'OPENAI_API_KEY',
    defaultModel: 'gpt-5.4',
    sendReasoning: false,
    tokensField: 'max_completion_tokens',
  },
  {
    name: 'openrouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariable: 'OPENROUTER_API_KEY',
    sendReasoning: false,
    tellsWindow: true,
  },
  local('ollama', 11_434),
  local('lmstudio', 1_234),
  local('llamacpp', 8_080),
  local('vllm', 8_000),
  {
    name: 'groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariable: 'GROQ_API_KEY',
    sendReasoning: false,
    tellsWindow: true,
  },
  {
    name: 'deepseek',
    baseUrl: 'https://api.deepseek.com/v1',
    keyVariable: 'DEEPSEEK_API_KEY',
    defaultModel: 'deepseek-chat',
    sendReasoning: true,
  },
  {
    name: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariable: 'MISTRAL_API_KEY',
    sendReasoning: false,
    tellsWindow: true,
  },
  { name: 'xai', baseUrl: 'https://api.x.ai/v1', keyVariable: 'XAI_API_KEY', sendReasoning: false },
  {
    name: 'moonshot',
    baseUrl: 'https://api.moonshot.ai/v1',
    keyVariable: 'MOONSHOT_API_KEY',
    sendReasoning: true,
    tellsWindow: true,
  },
  {
    name: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    keyVariable: 'GEMINI_API_KEY',
    defaultModel: 'gemini-2.5-flash',
    sendReasoning: false,
  },
  {
    name: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    keyVariable: 'ANTHROPIC_API_KEY',
    defaultModel: 'claude-sonnet-4-6',
    sendReasoning: false,
  },
];

/** The preset of that name, in any case. */
export function presetNamed(name: string): Preset | undefined {
  return PRESETS.find((preset) => preset.name === name.toLowerCase());
}

function local(name: string, port: number): Preset {
  return { name, baseUrl: `http://127.0.0.1:${port}/v1`, local: { port }, sendReasoning: false };
}
