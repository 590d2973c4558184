/** The windows of servers that only tell them in an API of their own: Ollama, LM Studio, llama.cpp. */
import { type Asking, askJson } from './ask-json.js';
import { asRecord, type JsonRecord, recordsIn, textOf, windowIn } from './json.js';
import { type LocalKind, rootOf } from './local-kind.js';
import type { Window } from './offered.js';

const MODELS_ASKED = 50; // One question a model; more than this nobody has on one machine.

/** The windows of the models `ids`, as far as the server tells them. */
export async function localWindows(
  kind: LocalKind,
  ids: readonly string[],
  asking: Asking,
): Promise<ReadonlyMap<string, Window>> {
  const root = rootOf(asking.baseUrl);
  const get = async (path: string, body?: object) => {
    const answer = await askJson(root + path, asking, body);
    return 'problem' in answer ? undefined : asRecord(answer.value);
  };
  if (kind === 'lmstudio') return lmstudioWindows(await get('/api/v0/models'));
  const running = kind === 'ollama' ? get('/api/ps') : undefined;
  const asked = ids.slice(0, MODELS_ASKED).map(async (id): Promise<readonly [string, Window]> => {
    // A router of llama.cpp would load the model that it is asked about.
    if (kind === 'llamacpp')
      return [id, llamacppWindow(await get(`/props?model=${encodeURIComponent(id)}&autoload=false`))];
    const [list, shown] = await Promise.all([running, get('/api/show', { model: id })]);
    return [id, ollamaWindow(id, recordsIn(list?.models), shown)];
  });
  return new Map(await Promise.all(asked));
}

/** `loaded_context_length` is there while a model is loaded; a later load may choose less than the most. */
function lmstudioWindows(answer: JsonRecord | undefined): ReadonlyMap<string, Window> {
  return new Map(
    recordsIn(answer?.data).map((record) => [
      textOf(record.id),
      windowOf(windowIn(record.loaded_context_length), windowIn(record.max_context_length)),
    ]),
  );
}

function llamacppWindow(props: JsonRecord | undefined): Window {
  return windowOf(windowIn(asRecord(props?.default_generation_settings)?.n_ctx) || windowIn(props?.n_ctx), 0);
}

/**
 * A loaded model tells its window; else `num_ctx` of its Modelfile is what it will get. Without either it is the
 * server's own setting, which no API tells, and what the model was trained for says nothing about it.
 */
function ollamaWindow(id: string, loaded: readonly JsonRecord[], shown: JsonRecord | undefined): Window {
  const running = loaded.find((record) => record.model === id || record.name === id);
  const parameter = windowIn(/^num_ctx\s+(\d+)\s*$/m.exec(textOf(shown?.parameters))?.[1]);
  const trained = Object.entries(asRecord(shown?.model_info) ?? {}).find(([name]) => name.endsWith('.context_length'));
  return windowOf(windowIn(running?.context_length) || parameter, windowIn(trained?.[1]));
}

function windowOf(contextTokens: number, mostContextTokens: number): Window {
  return { ...(contextTokens > 0 && { contextTokens }), ...(mostContextTokens > 0 && { mostContextTokens }) };
}
