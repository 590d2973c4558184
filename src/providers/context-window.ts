/** How many tokens a model takes in, and from where that is known. Asked of the endpoint at most a few times. */
import { knownModel } from './models.js';
import { isNamed, type OfferOptions, offeredModels } from './offered.js';
import { presetNamed } from './presets.js';

export type ContextWindow = {
  readonly tokens: number;
  /** `default`: nothing is known of this model. */
  readonly source: 'setting' | 'endpoint' | 'table' | 'default';
};

export type ContextWindowOptions = {
  /** What the person set, for whichever model. */
  readonly setting?: number | undefined;
  /** Absent: there is nobody to ask. */
  readonly endpoint?: Omit<OfferOptions, 'timeoutMs' | 'model'>;
  /** For each question, of which at most three follow each other; 1,000 by default. */
  readonly timeoutMs?: number;
};

const DEFAULT_TOKENS = 128_000; // The smallest window of the large models in our table.
const DEFAULT_LOCAL_TOKENS = 8_192; // Ollama and LM Studio begin with 4,096 to 8,192, whatever the model could take.
const FEWEST_TOKENS = 1_000; // No model that can use tools takes less: such a figure counts something else.
const TIMEOUT_MS = 1_000;
const QUESTIONS = 3; // A local server tells the window once the model is loaded, so later answers may be better.

/**
 * A function from a model to its window. What the person set goes first. A maker's own endpoint has what the table
 * says; any other server is asked, since its operator chose the window, and the table is only the next best. Never
 * fails, and asks nothing before it is called.
 */
export function createContextWindows({
  setting,
  endpoint,
  timeoutMs = TIMEOUT_MS,
}: ContextWindowOptions): (model: string) => Promise<ContextWindow> {
  const known = new Map<string, Promise<ContextWindow>>();
  const questions = new Map<string, number>();

  async function find(model: string): Promise<ContextWindow> {
    const inTable = knownModel(model)?.contextTokens;
    const table = inTable === undefined ? undefined : ({ tokens: inTable, source: 'table' } as const);
    const fallback = table ?? ({ tokens: DEFAULT_TOKENS, source: 'default' } as const);
    if (endpoint === undefined || (isMakers(endpoint) && (table || !tellsWindow(endpoint.name)))) return fallback;
    const offer = await offeredModels({ ...endpoint, timeoutMs, model });
    if ('problem' in offer) return isLocalPreset(endpoint.name) ? LOCAL_DEFAULT : fallback;
    const tokens = offer.models.find(({ id }) => isNamed(id, model))?.contextTokens;
    if (tokens !== undefined && tokens >= FEWEST_TOKENS) return { tokens, source: 'endpoint' };
    return offer.localKind === undefined ? fallback : LOCAL_DEFAULT;
  }

  return (model) => {
    if (setting !== undefined) return Promise.resolve({ tokens: setting, source: 'setting' });
    const remembered = known.get(model);
    if (remembered) return remembered;
    const count = (questions.get(model) ?? 0) + 1;
    questions.set(model, count);
    const found = find(model).then((window) => {
      if (window.source === 'default' && count < QUESTIONS) known.delete(model);
      return window;
    });
    known.set(model, found);
    return found;
  };
}

const LOCAL_DEFAULT: ContextWindow = { tokens: DEFAULT_LOCAL_TOKENS, source: 'default' };

/** A preset on the internet, at its own address. */
function isMakers({ name, baseUrl }: { readonly name: string; readonly baseUrl: string }): boolean {
  const preset = presetNamed(name);
  return preset !== undefined && preset.local === undefined && preset.baseUrl === baseUrl;
}

function isLocalPreset(name: string): boolean {
  return presetNamed(name)?.local !== undefined;
}

function tellsWindow(name: string): boolean {
  return presetNamed(name)?.tellsWindow === true;
}
