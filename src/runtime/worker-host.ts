/** What an agent's runs share on this machine, made by the first run that needs it and kept for the next ones. */
import { loadSkills, readSkillBody, type SkillDiagnostic, skillIndex } from '../context/skills.js';
import { createLoadSkillTool } from '../tools/load-skill/tool.js';
import type { Tool } from '../tools/types.js';
import { createWorkspace, type Workspace } from '../tools/workspace.js';
import type { AgentOptions } from './agent-types.js';

export type HostedSkills = {
  /** For the system prompt. */
  readonly index: string;
  /** `load_skill` for one run; it notes which of its calls really gave a skill. */
  readonly toolFor: (runId: string) => Tool;
};

/** `skills` is undefined where there are none. */
export type Hosted = { readonly workspace: Workspace; readonly skills: HostedSkills | undefined };

export type WorkerHost = {
  /**
   * The worker's surroundings.
   * @throws {UsageError} when the workspace is not there; the next call tries again.
   */
  readonly get: () => Promise<Hosted>;
  /** The next `get` makes them anew. */
  readonly destroy: () => void;
  /** How often they were made. */
  readonly starts: () => number;
  /**
   * Whether our own tool answered this call with a skill: only then is its result one to a compaction. A tool's name, an
   * event and a result can be made by anybody.
   */
  readonly isLoadedSkill: (runId: string, callId: string) => boolean;
  readonly diagnostics: () => readonly SkillDiagnostic[];
};

export function createWorkerHost({ workspace = '.', skillFolders = [] }: AgentOptions): WorkerHost {
  const loaded = new Set<string>();
  let made: Promise<Hosted> | undefined;
  let diagnostics: readonly SkillDiagnostic[] = [];
  let starts = 0;

  async function make(): Promise<Hosted> {
    starts += 1;
    const found = await loadSkills(skillFolders.map((path) => ({ path, scope: 'user', isNamed: true })));
    diagnostics = found.diagnostics;
    const { skills } = found;
    const port = {
      names: skills.map((skill) => skill.name),
      read: async (name: string) => {
        const skill = skills.find((each) => each.name === name);
        return skill && readSkillBody(skill);
      },
    };
    return {
      workspace: await createWorkspace({ root: workspace }),
      skills:
        skills.length === 0
          ? undefined
          : { index: skillIndex(skills), toolFor: (runId) => noting(createLoadSkillTool(port), runId) },
    };
  }

  function noting(tool: Tool, runId: string): Tool {
    return {
      ...tool,
      async run(input, context) {
        const output = await tool.run(input, context);
        if (output.ok && context.callId !== undefined) loaded.add(`${runId} ${context.callId}`);
        return output;
      },
    };
  }

  function forget(failed: Promise<Hosted>): void {
    if (made === failed) made = undefined;
  }

  return {
    get() {
      if (made !== undefined) return made;
      const making = make();
      made = making;
      making.catch(() => forget(making));
      return making;
    },
    destroy() {
      made = undefined;
    },
    starts: () => starts,
    isLoadedSkill: (runId, callId) => loaded.has(`${runId} ${callId}`),
    diagnostics: () => diagnostics,
  };
}
