/** What a provider gives for one request, and how it fails. */
import { ProviderError } from '../../src/errors.js';
import type { ModelDelta, ModelRequest, Provider } from '../../src/providers/types.js';

/** The deltas of one request, text and reasoning joined, without signs of life: how bytes are cut into reads is chance. */
export async function read(
  provider: Provider,
  request: Partial<ModelRequest> = {},
  signal = new AbortController().signal,
) {
  const deltas: ModelDelta[] = [];
  const whole: ModelRequest = { model: 'm', messages: [{ role: 'user', content: 'hi' }], tools: [], ...request };
  for await (const delta of provider.stream(whole, signal)) {
    const last = deltas.at(-1);
    if (delta.type === 'activity') continue;
    if ('text' in delta && last?.type === delta.type)
      deltas[deltas.length - 1] = { ...delta, text: last.text + delta.text };
    else deltas.push(delta);
  }
  return deltas;
}

/** The failure that the work ends in. */
export async function failureOf(work: Promise<unknown>): Promise<ProviderError> {
  try {
    await work;
  } catch (thrown) {
    if (thrown instanceof ProviderError) return thrown;
    throw thrown;
  }
  throw new Error('It did not fail.');
}
