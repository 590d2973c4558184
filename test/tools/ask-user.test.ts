import { describe, expect, it } from 'vitest';
import type { UserQuestion } from '../../src/events/types.js';
import { askUserTool } from '../../src/tools/ask-user/tool.js';
import { bench } from './bench.js';

async function ask(input: Record<string, unknown>, answer?: string) {
  const { call, context } = await bench();
  const asked: UserQuestion[] = [];
  Object.assign(context, {
    askUser: async (question: UserQuestion) => {
      asked.push(question);
      return answer;
    },
  });
  return { ...(await call(askUserTool, input)), asked };
}

describe('ask_user', () => {
  it('gives the answer back', async () => {
    const { ok, output, asked } = await ask({ question: 'Which one?', options: ['a', 'b'] }, 'b');
    expect({ ok, output }).toEqual({ ok: true, output: 'The user answered: b' });
    expect(asked).toEqual([{ question: 'Which one?', options: ['a', 'b'] }]);
  });

  it.each([
    ['none', undefined],
    ['a blank one', '  '],
  ])('tells the model to decide where the answer is %s', async (_, answer) => {
    expect(await ask({ question: 'Which?' }, answer)).toMatchObject({
      code: 'no-answer',
      output: expect.stringContaining('Decide yourself'),
    });
  });

  it('takes control sequences out, and double or empty options', async () => {
    const { asked } = await ask({ question: 'A\u001b[2J\u202eB?\nC', options: ['x\ny', '', 'x y', 'z\u0007'] }, 'x');
    expect(asked).toEqual([{ question: 'AB?\nC', options: ['x y', 'z'] }]);
  });

  it.each([
    ['an empty question', { question: ' \u001b[0m ' }],
    ['an endless question', { question: 'x'.repeat(4_001) }],
    ['too many options', { question: 'q', options: Array.from({ length: 11 }, (_, index) => `${index}`) }],
    ['an endless option', { question: 'q', options: ['x'.repeat(201)] }],
  ])('puts no one %s', async (_, input) => {
    const { code, asked } = await ask(input, 'a');
    expect({ code, asked }).toEqual({ code: 'bad-question', asked: [] });
  });

  it('says that there is nobody', async () => {
    const { call } = await bench();
    expect((await call(askUserTool, { question: 'Which?' })).code).toBe('nobody-to-ask');
  });
});
