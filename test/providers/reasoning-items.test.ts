import { expect, it } from 'vitest';
import { createReasoningItems } from '../../src/providers/reasoning-items.js';

const text = (words: string, more: object = {}) => ({ type: 'reasoning.text', index: 0, text: words, ...more });

it.each<[string, readonly (readonly unknown[])[], string, readonly object[]]>([
  [
    'stays as it came',
    [[text('hm', { signature: 's', format: 'f' })]],
    'hm',
    [text('hm', { signature: 's', format: 'f' })],
  ],
  [
    'is put together from its fragments, with the signature that comes last',
    [[text('h')], [text('m')], [{ type: 'reasoning.text', index: 0, text: null, signature: 's' }]],
    'hm',
    [text('hm', { signature: 's' })],
  ],
  [
    'may be a summary',
    [
      [{ type: 'reasoning.summary', index: 0, summary: 'in' }],
      [{ type: 'reasoning.summary', index: 0, summary: ' short' }],
    ],
    'in short',
    [{ type: 'reasoning.summary', index: 0, summary: 'in short' }],
  ],
  [
    'of another place or kind is another one',
    [[text('a'), text('b', { index: 1 })], [{ type: 'reasoning.encrypted', index: 1, data: 'x' }]],
    'ab',
    [text('a'), text('b', { index: 1 }), { type: 'reasoning.encrypted', index: 1, data: 'x' }],
  ],
  [
    'that is encrypted is never joined',
    [[{ type: 'reasoning.encrypted', index: 0, data: 'x' }], [{ type: 'reasoning.encrypted', index: 0, data: 'y' }]],
    '',
    [
      { type: 'reasoning.encrypted', index: 0, data: 'x' },
      { type: 'reasoning.encrypted', index: 0, data: 'y' },
    ],
  ],
  [
    'without a place is never joined',
    [[{ type: 'reasoning.text', text: 'a' }], [{ type: 'reasoning.text', text: 'b' }]],
    'ab',
    [
      { type: 'reasoning.text', text: 'a' },
      { type: 'reasoning.text', text: 'b' },
    ],
  ],
  ['that is no object is passed over', [[null, 7, 'x', text('a')]], 'a', [text('a')]],
])('a detail %s', (_name, chunks, words, expected) => {
  const items = createReasoningItems();
  expect(chunks.map((details) => items.add(details)).join('')).toBe(words);
  expect(items.items()).toEqual(expected);
});
