/** The tools of an agent: changed at any time, and what changes counts from the next run on. */
import { RejectedError } from '../errors.js';
import { checkTool } from '../tools/check-tool.js';
import type { Tool } from '../tools/types.js';
import type { AskOptions } from './agent-types.js';

export type Toolbox = {
  /**
   * Adds a tool at the end, or puts it in the place of the one of its name.
   * @throws {UsageError} when it is none that can be used.
   */
  readonly register: (tool: Tool) => void;
  /** False when there is none of that name. */
  readonly unregister: (name: string) => boolean;
  readonly list: () => readonly Tool[];
  /**
   * The tools of one run: its own in place of these, then only the allowed ones.
   * @throws {RejectedError} `unknown-tools`, naming them in order.
   * @throws {UsageError} when one of its own can't be used.
   */
  readonly select: (options: Pick<AskOptions, 'tools' | 'allowedTools'>) => readonly Tool[];
};

/** @throws {UsageError} when one of the tools can't be used. */
export function createToolbox(tools: readonly Tool[] = []): Toolbox {
  tools.forEach(checkTool);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    register: (tool) => {
      checkTool(tool);
      byName.set(tool.name, tool);
    },
    unregister: (name) => byName.delete(name),
    list: () => [...byName.values()],
    select({ tools: own, allowedTools }) {
      own?.forEach(checkTool);
      const offered = own ?? [...byName.values()];
      if (allowedTools === undefined) return offered;
      const names = new Set(offered.map((tool) => tool.name));
      const unknown = allowedTools.filter((name) => !names.has(name)).sort();
      if (unknown.length > 0) throw new RejectedError('unknown-tools', `There is no tool ${unknown.join(', ')}.`);
      return offered.filter((tool) => allowedTools.includes(tool.name));
    },
  };
}
