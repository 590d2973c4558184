/** The skills that runs of the command line offer: the user's own, and those of the project that the user trusts. */
import { loadSkills, readSkillBody, skillIndex } from '../context/skills.js';
import { createLoadSkillTool } from '../tools/load-skill/tool.js';
import type { Tool } from '../tools/types.js';
import type { Worker } from '../workers/types.js';
import type { Project } from './project.js';

export type OpenedSkills = {
  /** `load_skill`, or nothing where there are no skills. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** What the system prompt says of them; empty without any. */
  readonly index: readonly string[];
  /** The workers, each with `load_skill` if there are skills. */
  readonly offeredTo: (workers: ReadonlyMap<string, Worker>) => ReadonlyMap<string, Worker>;
};

/** Reads the heads of the skills; a body is read when the model asks for it, if it is still the one that is trusted. */
export async function openSkills({ skillFolders, maySkill }: Project): Promise<OpenedSkills> {
  const { skills } = await loadSkills(skillFolders, maySkill);
  if (skills.length === 0) return { tools: new Map(), index: [], offeredTo: (workers) => workers };
  const tool = createLoadSkillTool({
    names: skills.map((skill) => skill.name),
    read: async (name) => {
      const skill = skills.find((each) => each.name === name);
      return skill && (await maySkill(skill)) ? readSkillBody(skill) : undefined;
    },
  });
  return {
    tools: new Map([[tool.name, tool]]),
    index: [skillIndex(skills)],
    offeredTo: (workers) =>
      new Map([...workers].map(([name, worker]) => [name, { ...worker, tools: [...worker.tools, tool.name] }])),
  };
}
