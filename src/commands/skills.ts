/** `chatcli skills`: what skills there are, and what is wrong with those that are not. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { foldersFor } from '../config/folders.js';
import { loadSkills, type SkillDiagnostic, skillFolders } from '../context/skills.js';
import { EXIT } from '../exit-codes.js';
import { clean } from '../tools/clean.js';
import { safeName } from '../tools/walk.js';
import type { RunFlags } from './flags.js';
import { type Io, pathFrom } from './io.js';
import type { SideRun } from './side-commands.js';

/** Prints the list. */
export const runSkills: SideRun = async ({ flags }, io) => {
  io.stdout.write(await listSkills(io, (flags as Partial<RunFlags>).cwd));
  return EXIT.answered;
};

/**
 * The list as text. The user's own folders are read; a project's are only named, since nothing says yet that the user
 * trusts the project.
 * @throws {ConfigError} when `CHATCLI_HOME` names a folder that can't be ours.
 */
export async function listSkills({ env, cwd }: Pick<Io, 'env' | 'cwd'>, folder = '.'): Promise<string> {
  const root = pathFrom(cwd, folder);
  const folders = skillFolders({ root, home: env.HOME || homedir(), config: foldersFor({ env, cwd: root }).config });
  const { skills, diagnostics } = await loadSkills(folders.filter(({ scope }) => scope === 'user'));
  const untrusted = folders.filter(({ scope, path }) => scope === 'project' && existsSync(path));
  const sections = [
    skills.length === 0
      ? ['No skills.']
      : skills.flatMap(({ name, description, file }) => [name, `  ${clean(description)}`, `  ${safeName(file)}`]),
    untrusted.map(({ path }) => `${safeName(path)}: not trusted, not loaded`),
    diagnostics.length === 0 ? [] : ['Problems:', ...diagnostics.flatMap(describe)],
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** A folder may be called anything, also like lines of ours. */
function describe({ file, type, message, severity }: SkillDiagnostic): readonly string[] {
  return [`  ${severity} ${type}: ${safeName(file)}`, `    ${safeName(message)}`];
}
