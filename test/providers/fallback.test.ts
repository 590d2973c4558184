import { describe, expect, it } from 'vitest';
import { ProviderError, type ProviderErrorKind } from '../../src/errors.js';
import { withFallback } from '../../src/providers/fallback.js';
import { withRetry } from '../../src/providers/retry.js';
import type { ModelDelta, Provider } from '../../src/providers/types.js';

type Failure = ConstructorParameters<typeof ProviderError>;
const busy: Failure = ['overloaded', 'busy'];

/** A provider whose models fail as told, each time they are asked; the others say their own name. */
function endpoint(failing: Readonly<Record<string, Failure | Error>>) {
  const asked: string[] = [];
  const provider: Provider = {
    name: 'p',
    async *stream({ model }) {
      asked.push(model);
      yield { type: 'text', text: model };
      const failure = failing[model];
      if (failure instanceof Error) throw failure;
      if (failure) throw new ProviderError(...failure);
      yield { type: 'end', finishReason: 'stop' };
    },
  };
  return { provider, asked };
}

async function ask(provider: Provider, model: string, signal = new AbortController().signal) {
  const deltas: ModelDelta[] = [];
  let failure: unknown;
  try {
    for await (const delta of provider.stream({ model, messages: [], tools: [] }, signal)) deltas.push(delta);
  } catch (thrown) {
    failure = thrown;
  }
  return { deltas, failure };
}

const end = { type: 'end', finishReason: 'stop' };

describe('a provider with models to fall back on', () => {
  it('asks none of them while the first answers', async () => {
    const { provider, asked } = endpoint({});
    const { deltas } = await ask(withFallback(provider, ['b']), 'a');
    expect(deltas).toEqual([{ type: 'text', text: 'a' }, end]);
    expect(asked).toEqual(['a']);
  });

  it('asks one after the other, and says each switch before it', async () => {
    const { provider, asked } = endpoint({ a: busy, b: ['rate-limit', 'slow'] });
    const { deltas } = await ask(withFallback(provider, ['b', 'c']), 'a');
    expect(deltas).toEqual([
      { type: 'text', text: 'a' },
      { type: 'fallback', from: 'a', to: 'b', reason: 'busy' },
      { type: 'text', text: 'b' },
      { type: 'fallback', from: 'b', to: 'c', reason: 'slow' },
      { type: 'text', text: 'c' },
      end,
    ]);
    expect(asked).toEqual(['a', 'b', 'c']);
  });

  it('stays with the one that answered, and says so at the start of each later stream', async () => {
    const { provider, asked } = endpoint({ a: busy, b: busy });
    const resilient = withFallback(provider, ['b', 'c']);
    await ask(resilient, 'a');
    const { deltas } = await ask(resilient, 'a');
    expect(deltas).toEqual([{ type: 'model', model: 'c' }, { type: 'text', text: 'c' }, end]);
    expect(asked).toEqual(['a', 'b', 'c', 'c']);
  });

  it('keeps a model of its own apart from another that failed', async () => {
    const { provider, asked } = endpoint({ a: busy });
    const resilient = withFallback(provider, ['c']);
    await ask(resilient, 'a');
    expect((await ask(resilient, 'b')).deltas).toEqual([{ type: 'text', text: 'b' }, end]);
    expect(asked).toEqual(['a', 'c', 'b']);
  });

  it.each([
    ['b', ['b', 'c']],
    ['c', ['c']],
    ['other', ['other', 'a', 'b', 'c']],
  ])('asks after %s only those that come after it: %j', async (model, expected) => {
    const { provider, asked } = endpoint({ a: busy, b: busy, c: ['overloaded', 'last'], other: busy });
    const { failure } = await ask(withFallback(provider, ['a', 'b', 'c']), model);
    expect(asked).toEqual(expected);
    expect(failure).toMatchObject({ message: 'last' });
  });

  it.each<[string, Failure | Error, boolean]>([
    ['overloaded', busy, true],
    ['rate-limit', ['rate-limit', 'x'], true],
    ['rate-limit without an end', ['rate-limit', 'x', { retryable: false }], true],
    ['network', ['network', 'x'], true],
    ['network for good', ['network', 'x', { retryable: false }], false],
    ...(['auth', 'too-long', 'no-tools', 'bad-request', 'protocol', 'refused'] as const).map(
      (kind: ProviderErrorKind): [string, Failure, boolean] => [kind, [kind, 'x'], false],
    ),
    ['another error', new Error('ours'), false],
  ])('switches only where another model may do better: after %s', async (_, failure, expected) => {
    const { provider, asked } = endpoint({ a: failure });
    const result = await ask(withFallback(provider, ['b']), 'a');
    expect(asked).toEqual(expected ? ['a', 'b'] : ['a']);
    expect(result.failure === undefined).toBe(expected);
  });

  it('never switches after a cancel', async () => {
    const controller = new AbortController();
    const { provider, asked } = endpoint({ a: busy });
    controller.abort('enough');
    expect((await ask(withFallback(provider, ['b']), 'a', controller.signal)).failure).toBe('enough');
    expect(asked).toEqual(['a']);
  });

  it('switches after all the retries of a model', async () => {
    const { provider, asked } = endpoint({ a: busy });
    const patient = withRetry(provider, { maxAttempts: 3, sleep: async () => undefined });
    const { deltas } = await ask(withFallback(patient, ['b']), 'a');
    expect(asked).toEqual(['a', 'a', 'a', 'b']);
    expect(deltas).toContainEqual({ type: 'fallback', from: 'a', to: 'b', reason: 'busy (given up after 3 attempts)' });
  });

  it.each([31_536_000_001, Number.MAX_VALUE, Number.POSITIVE_INFINITY])(
    'switches where a model asks to wait %d ms',
    async (retryAfterMs) => {
      const { provider, asked } = endpoint({ a: ['rate-limit', 'slow', { retryAfterMs }] });
      await ask(withFallback(withRetry(provider), ['b']), 'a');
      expect(asked).toEqual(['a', 'b']);
    },
  );
});
