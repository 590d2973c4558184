/** What an agent's runs share on this machine, made by the first run that needs it and kept for the next ones. */
import { loadSkills, readSkillBody, type SkillDiagnostic, skillIndex } from '../context/skills.js';
import type { EventSink } from '../events/types.js';
import { createLoadSkillTool } from '../tools/load-skill/tool.js';
import type { Tool } from '../tools/types.js';
import { createWorkspace, type Workspace } from '../tools/workspace.js';
import type { AgentOptions } from './agent-types.js';

export type HostedSkills = {
  /** For the system prompt; empty without skills. */
  readonly index: string;
  readonly tool: Tool | undefined;
};

export type Hosted = { readonly workspace: Workspace; readonly skills: HostedSkills };

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
  /** Reads which skills were loaded. */
  readonly sink: EventSink;
  /** Whether a call really loaded a skill: only then is its result one to a compaction. */
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
    const found = await loadSkills(skillFolders.map((path) => ({ path, scope: 'user' })));
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
      skills: {
        index: skillIndex(skills),
        tool: skills.length === 0 ? undefined : createLoadSkillTool(port),
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
    sink(event) {
      if (event.type === 'tool-end' && event.name === 'load_skill' && event.ok)
        loaded.add(`${event.runId} ${event.callId}`);
    },
    isLoadedSkill: (runId, callId) => loaded.has(`${runId} ${callId}`),
    diagnostics: () => diagnostics,
  };
}
