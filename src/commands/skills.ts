/** `chatcli skills`: what skills there are, and what is wrong with those that are not. */
import { existsSync } from 'node:fs';
import type { Trust } from '../config/trust.js';
import { loadSkills, type SkillDiagnostic } from '../context/skills.js';
import { EXIT } from '../exit-codes.js';
import { clean } from '../tools/clean.js';
import { safeName } from '../tools/walk.js';
import type { RunFlags } from './flags.js';
import { type Io, pathFrom } from './io.js';
import { itemsOf, openProject, skillFoldersOf, trustAt, type UserFolders } from './project.js';
import type { SideRun } from './side-commands.js';

/** Prints the list. */
export const runSkills: SideRun = async ({ flags }, io) => {
  io.stdout.write(await listSkills(io, (flags as Partial<RunFlags>).cwd));
  return EXIT.answered;
};

/**
 * The list as text: the user's skills, and those of the project whose content the user trusts. Of all others only their
 * folders are named.
 * @throws {ConfigError} when `CHATCLI_HOME` names a folder that can't be ours, or the store of trust is broken.
 */
export async function listSkills({ env, cwd }: Pick<Io, 'env' | 'cwd'>, folder = '.'): Promise<string> {
  const { trust, user } = await trustAt(env, pathFrom(cwd, folder));
  const { skillFolders, maySkill } = await openProject(trust, user);
  const { skills, diagnostics } = await loadSkills(skillFolders, maySkill);
  const projectFolders = skillFoldersOf(trust, user).filter(
    ({ scope, path }) => scope === 'project' && existsSync(path),
  );
  const waiting = trust.isTrusted
    ? await waitingSkills(trust, user)
    : projectFolders.map(({ path }) => `${safeName(path)}: not trusted, not loaded`);
  const sections = [
    skills.length === 0
      ? ['No skills.']
      : skills.flatMap(({ name, description, file, scope }) => [
          name,
          `  ${clean(description)}`,
          `  ${safeName(file)}${scope === 'project' ? ' (of the project, trusted)' : ''}`,
        ]),
    waiting,
    diagnostics.length === 0 ? [] : ['Problems:', ...diagnostics.flatMap(describe)],
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** Skills of a trusted project that are not what the user trusted. */
async function waitingSkills(trust: Trust, user: UserFolders): Promise<readonly string[]> {
  const skills = (await itemsOf(trust, user)).filter(({ kind, state }) => kind === 'skill' && state !== 'trusted');
  return skills.map(
    ({ path, state, problem }) => `${safeName(path)}: ${problem ?? state}, not loaded: see chatcli trust`,
  );
}

/** A folder may be called anything, also like lines of ours. */
function describe({ file, type, message, severity }: SkillDiagnostic): readonly string[] {
  return [`  ${severity} ${type}: ${safeName(file)}`, `    ${safeName(message)}`];
}
