import { describe, expect, it } from 'vitest';
import { createThinkTags } from '../../src/providers/think-tags.js';

/** What the pieces come to, neighbours of a kind joined. */
function read(pieces: readonly string[], isAnswer = true) {
  const tags = createThinkTags();
  const said = { text: '', reasoning: '' };
  for (const delta of [...pieces.flatMap((piece) => tags.push(piece)), ...tags.end(isAnswer)]) {
    if (delta.type === 'text' || delta.type === 'reasoning') said[delta.type] += delta.text;
  }
  return said;
}

describe('a text', () => {
  it.each<[string, string, { text: string; reasoning: string }]>([
    ['without the tag is as it was', 'An answer.\n', { text: 'An answer.\n', reasoning: '' }],
    ['that begins with it holds reasoning', '<think>hm\n</think>\n\nYes.\n', { text: 'Yes.\n', reasoning: 'hm\n' }],
    ['may have blank lines before it', '\n <think>hm</think>Yes.', { text: 'Yes.', reasoning: 'hm' }],
    ['may hold no reasoning in it', '<think>\n\n</think>\n\nYes.', { text: 'Yes.', reasoning: '\n\n' }],
    ['may speak of it later', 'Put it in <think>…</think>.', { text: 'Put it in <think>…</think>.', reasoning: '' }],
    [
      'may speak of it behind its reasoning',
      '<think>a</think>b <think>c</think>',
      { text: 'b <think>c</think>', reasoning: 'a' },
    ],
    ['of another tag is as it was', '<thinner>', { text: '<thinner>', reasoning: '' }],
    ['that is half a tag is as it was', '<thi', { text: '<thi', reasoning: '' }],
    ['of blanks alone is as it was', ' \n', { text: ' \n', reasoning: '' }],
    ['may hold other tags in its reasoning', '<think><b></think', { text: '<think><b></think', reasoning: '<b>' }],
  ])('%s, however it is split', (_name, text, expected) => {
    expect(read([text])).toEqual(expected);
    expect(read([...text])).toEqual(expected);
    for (let at = 1; at < text.length; at += 1) expect(read([text.slice(0, at), text.slice(at)])).toEqual(expected);
  });

  it('of thinking that was cut off, or is followed by calls, stays thinking', () => {
    expect(read(['<think>hm</thi'], false)).toEqual({ text: '', reasoning: 'hm</thi' });
  });

  it('is told at once where nothing can change it any more', () => {
    const tags = createThinkTags();
    expect(tags.push('<think>a')).toEqual([{ type: 'reasoning', text: 'a' }]);
    expect(tags.push('b<')).toEqual([{ type: 'reasoning', text: 'b' }]);
    expect(tags.push('c')).toEqual([{ type: 'reasoning', text: '<c' }]);
    expect(tags.push('</think>\nd')).toEqual([{ type: 'text', text: 'd' }]);
    expect(tags.push('e')).toEqual([{ type: 'text', text: 'e' }]);
  });
});
