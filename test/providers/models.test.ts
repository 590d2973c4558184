import { describe, expect, it } from 'vitest';
import { costOf, knownModel, MODELS, priceOf } from '../../src/providers/models.js';
import {
  PRESETS,
  presetFor,
  presetNamed,
  type ReasoningSetting,
  reasoningFormOf,
} from '../../src/providers/presets.js';

describe('the presets', () => {
  it('are these, in this order', () => {
    expect(PRESETS.map((preset) => preset.name)).toEqual([
      'openai',
      'openrouter',
      'ollama',
      'lmstudio',
      'llamacpp',
      'vllm',
      'groq',
      'deepseek',
      'mistral',
      'xai',
      'moonshot',
      'gemini',
      'anthropic',
    ]);
  });

  it('need a key and https, or are on this machine', () => {
    for (const { baseUrl, keyVariable, local } of PRESETS) {
      if (local) expect([keyVariable, baseUrl]).toEqual([undefined, `http://127.0.0.1:${local.port}/v1`]);
      else
        expect([keyVariable, baseUrl]).toEqual([
          expect.stringMatching(/^[A-Z]+_API_KEY$/),
          expect.stringMatching(/^https:.*[^/]$/),
        ]);
    }
  });

  it('get reasoning back where they need it or have a use for it', () => {
    const wanting = PRESETS.filter((preset) => preset.reasoning !== 'none');
    expect(Object.fromEntries(wanting.map((preset) => [preset.name, preset.reasoning]))).toEqual({
      openrouter: 'reasoning',
      ollama: 'reasoning',
      vllm: 'reasoning',
      deepseek: 'reasoning_content',
      moonshot: 'reasoning_content',
    });
  });

  it.each<[string, ReasoningSetting, string]>([
    ['deepseek', 'auto', 'reasoning_content'],
    ['deepseek', 'always', 'reasoning_content'],
    ['deepseek', 'never', 'none'],
    ['groq', 'auto', 'none'],
    ['groq', 'always', 'reasoning'],
    ['mistral', 'always', 'thinking-parts'],
    ['openai', 'always', 'reasoning_content'],
    ['nobody', 'auto', 'none'],
    ['nobody', 'always', 'reasoning_content'],
    ['nobody', 'never', 'none'],
  ])('of the name %s, with the setting %s, get reasoning in the form %s', (name, setting, form) => {
    expect(reasoningFormOf(presetNamed(name), setting)).toBe(form);
  });

  it.each<[string, string, string | undefined]>([
    ['openai', 'https://api.deepseek.com', 'deepseek'],
    ['openai', 'http://api.deepseek.com', 'deepseek'],
    ['openai', 'https://api.moonshot.cn/v1', 'moonshot'],
    ['openai', 'https://api.deepseek.com.example.com/v1', 'openai'],
    ['openai', 'https://openrouter.ai/api/v1', 'openrouter'],
    ['openai', 'https://models.example.com/v1', 'openai'],
    ['ollama', 'http://127.0.0.1:11434/v1', 'ollama'],
    ['vllm', 'http://127.0.0.1:11434/v1', 'vllm'],
    ['nobody', 'not a URL', undefined],
  ])('named %s at %s is known as %s', (name, baseUrl, known) => {
    expect(presetFor(name, baseUrl)?.name).toBe(known);
  });

  it('are found by name in any case', () => {
    expect(presetNamed('OpenAI')?.baseUrl).toBe('https://api.openai.com/v1');
    expect(presetNamed('nobody')).toBeUndefined();
  });
});

describe('a model', () => {
  it.each<[string, string | undefined]>([
    ['gpt-4o', 'gpt-4o'],
    ['gpt-4o-2024-08-06', 'gpt-4o'],
    ['gpt-4o-2024-05-13', 'gpt-4o-2024-05-13'],
    ['gpt-4o-mini', 'gpt-4o-mini'],
    ['openai/gpt-4o-mini-2024-07-18', 'gpt-4o-mini'],
    ['openrouter/anthropic/claude-sonnet-4-5', 'claude-sonnet-4-5'],
    ['claude-sonnet-4-5-20250929', 'claude-sonnet-4-5'],
    ['claude-sonnet-4-20250514', 'claude-sonnet-4'],
    ['claude-3-5-haiku-latest', 'claude-3-5-haiku'],
    ['GPT-5', 'gpt-5'],
    ['gemini-2.5-flash-preview-09-2025', 'gemini-2.5-flash'],
    ['gpt-oss-120b:free', 'gpt-oss-120b'],
    ['gpt-5.9', undefined],
    ['gpt-5-codex', undefined],
    ['gpt-4o-audio-preview', undefined],
    ['llama3.2', undefined],
    ['mock', undefined],
    ['', undefined],
  ])('named %j is known as %j', (id, expected) => {
    expect(knownModel(id)?.id).toBe(expected);
  });

  it('stands once in the table, and its cached input costs no more than its input', () => {
    expect(new Set(MODELS.map((model) => model.id)).size).toBe(MODELS.length);
    for (const { price } of MODELS) expect(price.cachedInput).toBeLessThanOrEqual(price.input);
  });

  it('costs by kind of token', () => {
    const price = priceOf('gpt-4o-mini');
    expect(price).toEqual({ input: 0.15, cachedInput: 0.075, output: 0.6 });
    const usage = {
      requests: 1,
      promptTokens: 1_000_000,
      cachedTokens: 400_000,
      completionTokens: 500_000,
      reasoningTokens: 9,
      totalTokens: 0,
    };
    expect(price && costOf(usage, price)).toBeCloseTo(0.09 + 0.03 + 0.3, 10);
    expect(price && costOf({ ...usage, cachedTokens: 2_000_000 }, price)).toBeCloseTo(0.075 + 0.3, 10);
    expect(priceOf('mock')).toBeUndefined();
  });
});
