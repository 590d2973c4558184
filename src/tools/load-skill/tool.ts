/** Hands the model the body of a skill. Which skills there are, and reading them, comes in through the port. */
import * as z from 'zod';
import { defineTool, type Tool, type ToolOutput } from '../types.js';
import doc from './tool.md';

export type SkillPort = {
  readonly names: readonly string[];
  /** Undefined where it can't be read any more. */
  readonly read: (
    name: string,
  ) => Promise<{ readonly text: string; readonly isCut: boolean; readonly folder: string } | undefined>;
};

const schema = z.object({ name: z.string().min(1) });

/** The tool `load_skill` over the skills of one run. */
export function createLoadSkillTool({ names, read }: SkillPort): Tool {
  return defineTool({
    name: 'load_skill',
    doc,
    permission: 'meta',
    concurrency: 'parallel',
    schema,
    subjects: () => [],
    title: ({ name }) => name,
    async run({ name }): Promise<ToolOutput> {
      if (!names.includes(name)) {
        const known = names.length === 0 ? 'There are none.' : `The skills are: ${names.join(', ')}.`;
        return { ok: false, code: 'unknown-skill', output: `There is no skill "${name}". ${known}` };
      }
      const body = await read(name);
      if (body === undefined) {
        return {
          ok: false,
          code: 'unreadable',
          output: `The skill "${name}" can't be read any more. Go on without it.`,
        };
      }
      const cut = body.isCut ? '\n\n[The skill is longer; what follows here is left out.]' : '';
      return {
        ok: true,
        output: `Skill ${name}, from ${body.folder}:\n\n${body.text}${cut}`,
        display: { kind: 'lines', lines: [`${body.text.split('\n').length} lines`] },
      };
    },
  });
}
