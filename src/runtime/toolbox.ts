/** The tools of an agent: changed at any time, and what changes counts from the next run on. */
import { RejectedError, UsageError } from '../errors.js';
import { checkTool } from '../tools/check-tool.js';
import type { Tool } from '../tools/types.js';
import type { AskOptions } from './agent-types.js';
import { LOAD_SKILL } from './skill-pairs.js';

export type Toolbox = {
  /**
   * Adds a tool at the end, or puts it in the place of the one of its name.
   * @throws {UsageError} when it is none that can be used, or has the name of the agent's own `load_skill`.
   */
  readonly register: (tool: Tool) => void;
  /** False when there is none of that name. */
  readonly unregister: (name: string) => boolean;
  readonly list: () => readonly Tool[];
  /**
   * The tools of one run: its own in place of these, then only the allowed ones. `load_skill` is one of these, and
   * `allowedTools` may name it in any case.
   * @throws {RejectedError} `unknown-tools`, naming them in order.
   * @throws {UsageError} when one of its own can't be used: as `register`.
   */
  readonly select: (options: Pick<AskOptions, 'tools' | 'allowedTools'>) => Selected;
};

export type Selected = {
  readonly tools: readonly Tool[];
  /** Whether the run gets `load_skill`, which is made only where there are skills. */
  readonly offersSkills: boolean;
};

/** @throws {UsageError} as `register`. */
export function createToolbox(tools: readonly Tool[] = [], { hasSkills = false } = {}): Toolbox {
  const byName = new Map(checked(tools).map((tool) => [tool.name, tool]));

  /** A tool in its place could pass off any text as a skill, and no compaction would ever drop it. */
  function checked(given: readonly Tool[]): readonly Tool[] {
    given.forEach(checkTool);
    if (hasSkills && given.some(({ name }) => name === LOAD_SKILL)) {
      const hint = 'Give your tool another name, or leave out skillFolders.';
      throw new UsageError(`With skillFolders the tool "${LOAD_SKILL}" is the agent's own.`, { hint });
    }
    return given;
  }

  return {
    register(tool) {
      for (const each of checked([tool])) byName.set(each.name, each);
    },
    unregister: (name) => byName.delete(name),
    list: () => [...byName.values()],
    select({ tools: own, allowedTools }) {
      const offered = own === undefined ? [...byName.values()] : checked(own);
      if (allowedTools === undefined) return { tools: offered, offersSkills: hasSkills && own === undefined };
      const names = new Set([...offered.map((tool) => tool.name), ...(hasSkills ? [LOAD_SKILL] : [])]);
      const unknown = allowedTools.filter((name) => !names.has(name)).sort();
      if (unknown.length > 0) throw new RejectedError('unknown-tools', `There is no tool ${unknown.join(', ')}.`);
      return {
        tools: offered.filter((tool) => allowedTools.includes(tool.name)),
        offersSkills: hasSkills && allowedTools.includes(LOAD_SKILL),
      };
    },
  };
}
