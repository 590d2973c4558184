/** Goes on with another model when one fails for good, where the person set such models. Never in silence. */
import { ProviderError } from '../errors.js';
import type { ModelDelta, ModelRequest, Provider } from './types.js';

/**
 * The same provider, which asks the next of `models` when the one before failed after all its retries, because it is
 * overloaded, limited or cannot be reached; never for a request that is itself at fault. A `fallback` delta comes
 * before each switch and makes void what the stream yielded before it. What was switched to stays for as long as the
 * provider is in use, and later streams begin with a `model` delta that says so.
 * @throws {ProviderError} the failure of the last model.
 */
export function withFallback(provider: Provider, models: readonly string[]): Provider {
  /** What is asked in place of a model that failed. */
  const replacements = new Map<string, string>();

  function inUse(model: string): string {
    const next = replacements.get(model);
    return next === undefined ? model : inUse(next);
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, undefined> {
    let model = inUse(request.model);
    if (model !== request.model) yield { type: 'model', model };
    for (;;) {
      try {
        for await (const delta of provider.stream({ ...request, model }, signal)) yield delta;
        return;
      } catch (thrown) {
        signal.throwIfAborted();
        // A run beside this one may have switched meanwhile.
        const next = replacements.get(model) ?? models[models.indexOf(model) + 1];
        if (next === undefined || !mayPassElsewhere(thrown)) throw thrown;
        replacements.set(model, next);
        yield { type: 'fallback', from: model, to: next, reason: thrown.message };
        model = inUse(next);
      }
    }
  }

  return { name: provider.name, stream };
}

/** Whether another model may take what this one did not. What will not pass on the way there is the same for all. */
function mayPassElsewhere(thrown: unknown): thrown is ProviderError {
  if (!(thrown instanceof ProviderError)) return false;
  const { failure, retryable } = thrown;
  return failure === 'overloaded' || failure === 'rate-limit' || (failure === 'network' && retryable);
}
