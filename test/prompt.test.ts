import { describe, expect, it } from 'vitest';
import { fillPrompt } from '../src/prompt.js';

describe('filling a prompt', () => {
  it.each([
    ['fills a hole', 'a {{x}} b', { x: '1' }, 'a 1 b'],
    ['fills it wherever it stands', '{{x}}{{ x }}', { x: '1' }, '11'],
    ['takes a value literally', '{{x}}', { x: '$& {{y}}' }, '$& {{y}}'],
    ['leaves other braces alone', '{ {x} } {{', {}, '{ {x} } {{'],
  ])('%s', (_, text, values, filled) => {
    expect(fillPrompt(text, values)).toBe(filled);
  });

  it.each([
    ['a hole that nothing fills', 'a {{x}}', {}],
    ['a value without a hole', 'a', { x: '1' }],
    ['a name that every object has', '{{constructor}}', {}],
  ])('refuses %s', (_, text, values) => {
    expect(() => fillPrompt(text, values)).toThrow(/hole/);
  });
});
