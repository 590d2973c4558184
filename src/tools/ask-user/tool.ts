/** Asks the person at the terminal. Who puts the question, and waits, comes in through the context. */
import * as z from 'zod';
import { clean } from '../clean.js';
import { defineTool, ToolFailure, type ToolOutput } from '../types.js';
import doc from './tool.md';

const MAX_QUESTION_CHARACTERS = 4_000;
const MAX_OPTIONS = 10;
const MAX_OPTION_CHARACTERS = 200;

const schema = z.object({ question: z.string(), options: z.array(z.string()).optional() });

export const askUserTool = defineTool({
  name: 'ask_user',
  doc,
  permission: 'meta',
  concurrency: 'serial',
  schema,
  subjects: () => [],
  title: ({ question }) => oneLine(question),
  async run({ question, options = [] }, { askUser, signal }): Promise<ToolOutput> {
    if (askUser === undefined) {
      throw new ToolFailure('nobody-to-ask', 'There is nobody to ask. Decide yourself, and say what you assumed.');
    }
    const asked = readQuestion(question, options);
    const answer = await askUser(asked, signal);
    if (answer === undefined || answer.trim() === '') {
      const output = 'The user gave no answer. Decide yourself, and say what you assumed; do not ask again.';
      return { ok: true, code: 'no-answer', output, display: { kind: 'lines', lines: ['no answer'] } };
    }
    return {
      ok: true,
      output: `The user answered: ${clean(answer)}`,
      display: { kind: 'lines', lines: [oneLine(answer)] },
    };
  },
});

function readQuestion(question: string, options: readonly string[]) {
  const text = clean(question).trim();
  if (text === '') throw new ToolFailure('bad-question', 'The question is empty.');
  if (text.length > MAX_QUESTION_CHARACTERS)
    throw new ToolFailure(
      'bad-question',
      `The question has more than ${MAX_QUESTION_CHARACTERS} characters. Ask shorter.`,
    );
  const given = options.map(oneLine).filter((option) => option !== '');
  const choices = [...new Set(given)];
  if (choices.length > MAX_OPTIONS || choices.some((option) => option.length > MAX_OPTION_CHARACTERS))
    throw new ToolFailure(
      'bad-question',
      `At most ${MAX_OPTIONS} options, of ${MAX_OPTION_CHARACTERS} characters each.`,
    );
  return { question: text, ...(choices.length > 0 && { options: choices }) };
}

function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim();
}
