/** One provider over the two APIs of an endpoint: which of them a model is asked through, as far as that is known. */
import { ProviderError } from '../errors.js';
import type { ClosableProvider } from './endpoint.js';
import type { ApiName } from './failures.js';
import type { Preset } from './presets.js';
import type { ModelDelta, ModelRequest } from './types.js';

export type ApiSwitchOptions = {
  readonly name: string;
  /** Whether a model is known to need the Responses API. */
  readonly needsResponses: (model: string) => boolean;
  /** Each is opened when it is first asked: loading its part of the SDK costs. */
  readonly open: Readonly<Record<ApiName, () => Promise<ClosableProvider>>>;
};

/**
 * Asks through Chat Completions, but for models that need the Responses API. A model that the endpoint says to serve
 * through that alone is asked again there at once, and from then on.
 */
export function apiSwitch({ name, needsResponses, open }: ApiSwitchOptions): ClosableProvider {
  const opening = new Map<ApiName, Promise<ClosableProvider>>();
  const opened: ClosableProvider[] = [];
  const told = new Set<string>();

  function provider(api: ApiName): Promise<ClosableProvider> {
    const known = opening.get(api);
    if (known) return known;
    const made = open[api]().then((client) => {
      opened.push(client);
      return client;
    });
    opening.set(api, made);
    return made;
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, undefined> {
    const { model } = request;
    if (!told.has(model) && !needsResponses(model)) {
      try {
        for await (const delta of (await provider('chat')).stream(request, signal)) yield delta;
        return;
      } catch (thrown) {
        // It comes in place of a reply, so nothing was said yet.
        if (!(thrown instanceof ProviderError) || thrown.failure !== 'wrong-api') throw thrown;
        told.add(model);
      }
    }
    for await (const delta of (await provider('responses')).stream(request, signal)) yield delta;
  }

  return {
    name,
    stream,
    close: () => {
      for (const client of opened) client.close();
    },
  };
}

/** Whether a preset's model needs the Responses API, at the preset's own address. Of other places nothing is known. */
export function presetNeedsResponses(preset: Preset | undefined, baseUrl: string): (model: string) => boolean {
  const rows = preset?.baseUrl === baseUrl ? (preset.responsesModels ?? []) : [];
  return (model) => rows.some(({ pattern }) => pattern.test(model.toLowerCase()));
}
