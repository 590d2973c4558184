/**
 * Finds skills in folders that somebody trusts: a folder with a `SKILL.md` whose front matter says when to use it. Only
 * names and descriptions are read ahead; a body is when it is asked for. What is wrong is told and stops nothing.
 */
import { constants, type Dirent } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import { basename, isAbsolute, join, relative } from 'node:path';
import { bodyOf, readSkillPage, type SkillDiagnostic, type SkillHead } from './skills-page.js';

export type { SkillDiagnostic } from './skills-page.js';

/** A folder that skills are looked for in. */
export type SkillFolder = {
  readonly path: string;
  readonly scope: 'project' | 'user';
  /** The project, out of which its folder must not lead. */
  readonly within?: string;
  /** Somebody named it, so that it has to be there; of the usual places most are not. */
  readonly isNamed?: boolean;
};

/** Where a skill is. */
export type SkillPage = {
  readonly scope: SkillFolder['scope'];
  /** Absolute path of its `SKILL.md`. */
  readonly file: string;
  /** The folder that was looked in: its real path. */
  readonly root: string;
};

export type Skill = SkillHead & SkillPage;

export type Skills = { readonly skills: readonly Skill[]; readonly diagnostics: readonly SkillDiagnostic[] };

/** A skill's text. `isCut`: only its beginning is there. `folder` is where the files lie that it may speak of. */
export type SkillBody = { readonly text: string; readonly isCut: boolean; readonly folder: string };

const PAGE = 'SKILL.md';
const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules']);
const DEPTH_AT_MOST = 6;
const FOLDERS_AT_MOST = 2_000; // Below each trusted folder, so that none can crowd out another.
const HEAD_LIMIT_BYTES = 64 * 1024;
/** A result holds 30,000 bytes: what is longer would lose its middle. */
const BODY_LIMIT_BYTES = 28 * 1024;
const INDEX_LIMIT_CHARS = 16 * 1024;

/** The folders that there may be, those that win first: the project's, then the user's. `config` is our own folder. */
export function skillFolders(where: { root: string; home: string; config: string }): readonly SkillFolder[] {
  const { root, home, config } = where;
  // ~/.chatcli belongs to another program, also where the home folder is the workspace.
  const names = ['.agents', ...(relative(home, root) === '' ? [] : ['.chatcli']), '.claude'];
  const user = [join(home, '.agents', 'skills'), join(config, 'skills'), join(home, '.claude', 'skills')];
  return [
    ...names.map((name): SkillFolder => ({ path: join(root, name, 'skills'), scope: 'project', within: root })),
    ...user.map((path): SkillFolder => ({ path, scope: 'user' })),
  ];
}

/**
 * The skills of the folders in `trust` and of no others; of two with one name the first wins. Nothing is read of a page
 * that `mayUse` refuses. Never throws.
 */
export async function loadSkills(
  trust: readonly SkillFolder[],
  mayUse: (page: SkillPage) => boolean | Promise<boolean> = () => true,
): Promise<Skills> {
  const { pages, diagnostics: found } = await findSkillPages(trust);
  const byName = new Map<string, Skill>();
  const diagnostics = [...found];
  for (const where of pages) {
    if (!(await mayUse(where))) continue;
    const { file, root, scope } = where;
    const page = await readPage(file, root);
    diagnostics.push(...page.diagnostics);
    if (page.head === undefined) continue;
    const winner = byName.get(page.head.name);
    if (winner === undefined) byName.set(page.head.name, { ...page.head, scope, file, root });
    else diagnostics.push(shadowed(file, winner));
  }
  return { skills: [...byName.values()], diagnostics };
}

/** Where the skills of some folders are, unread. Never throws. */
export async function findSkillPages(
  folders: readonly SkillFolder[],
): Promise<{ readonly pages: readonly SkillPage[]; readonly diagnostics: readonly SkillDiagnostic[] }> {
  const scan: Scan = { seen: new Set(), pages: [], diagnostics: [] };
  for (const folder of folders) await scanFolder(folder, scan);
  return scan;
}

/** What the system prompt says of skills; empty where there are none. */
export function skillIndex(skills: readonly Skill[]): string {
  if (skills.length === 0) return '';
  const lines: string[] = [];
  let left = INDEX_LIMIT_CHARS;
  for (const { name, description } of skills) {
    const line = `- ${name}: ${description}`;
    left -= line.length;
    if (left < 0) break;
    lines.push(line);
  }
  const missing = skills.length - lines.length;
  return [
    'Skills: instructions for certain kinds of work. When a task fits one, call load_skill with its name first.',
    ...lines,
    ...(missing > 0 ? [`(${missing} more do not fit here.)`] : []),
  ].join('\n');
}

/**
 * The body of a skill as it is now, cut at 28 KiB; undefined where it can't be read any more, or leads out of its
 * folder by now.
 */
export async function readSkillBody(skill: Pick<Skill, 'file' | 'root'>): Promise<SkillBody | undefined> {
  const read = await readInside(skill.file, skill.root, HEAD_LIMIT_BYTES + BODY_LIMIT_BYTES);
  if (typeof read === 'string') return undefined;
  const bytes = Buffer.from(bodyOf(read.text));
  const isCut = bytes.length > BODY_LIMIT_BYTES || read.isCut;
  const text = new TextDecoder().decode(bytes.subarray(0, BODY_LIMIT_BYTES)).replace(/\uFFFD$/, '');
  return { text, isCut, folder: join(skill.file, '..') };
}

type Scan = { readonly seen: Set<string>; readonly pages: SkillPage[]; readonly diagnostics: SkillDiagnostic[] };

async function scanFolder({ path, scope, within, isNamed = false }: SkillFolder, scan: Scan): Promise<void> {
  const root = await realPathOf(path);
  if (root === undefined) {
    if (isNamed) scan.diagnostics.push(missing(path));
    return;
  }
  if (within !== undefined && !isInside((await realPathOf(within)) ?? within, root)) {
    scan.diagnostics.push(leadsOut(path));
    return;
  }
  let looked = 0;
  let level: readonly string[] = [root];
  for (let depth = 0; depth <= DEPTH_AT_MOST && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const folder of level) {
      if (scan.seen.has(folder)) continue;
      if (looked >= FOLDERS_AT_MOST) {
        scan.diagnostics.push(tooMany(path, `more than ${FOLDERS_AT_MOST} folders`));
        return;
      }
      looked += 1;
      scan.seen.add(folder);
      next.push(...(await lookInto(folder, { root, scope }, scan)));
    }
    level = next;
  }
  if (level.length > 0) scan.diagnostics.push(tooMany(path, `folders more than ${DEPTH_AT_MOST} levels deep`));
}

/** Notes the page of one folder, or gives the folders below it: those of a skill are its own business. */
async function lookInto(folder: string, place: Omit<SkillPage, 'file'>, scan: Scan): Promise<readonly string[]> {
  let entries: readonly Dirent[];
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch (thrown) {
    scan.diagnostics.push(unreadable(folder, thrown));
    return [];
  }
  const page = entries.find(({ name }) => name === PAGE);
  if (page !== undefined && !page.isDirectory()) {
    scan.pages.push({ ...place, file: join(folder, PAGE) });
    return [];
  }
  const below: string[] = [];
  for (const entry of entries.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (SKIPPED.has(entry.name)) continue;
    if (entry.isDirectory()) below.push(path);
    if (!entry.isSymbolicLink()) continue;
    const real = await realPathOf(path);
    // A link within the folder leads to what is found anyway.
    if (real !== undefined && !isInside(place.root, real)) scan.diagnostics.push(leadsOut(path));
  }
  return below;
}

async function readPage(file: string, root: string): ReturnType<typeof readSkillPage> {
  const read = await readInside(file, root, HEAD_LIMIT_BYTES);
  if (read === 'leads-out') return { head: undefined, diagnostics: [leadsOut(file)] };
  if (read === 'unreadable') return { head: undefined, diagnostics: [unreadable(file)] };
  return readSkillPage(read.text, { file, folder: basename(join(file, '..')), isCut: read.isCut });
}

/** The beginning of a regular file that really lies below `root`. */
async function readInside(
  path: string,
  root: string,
  maxBytes: number,
): Promise<{ readonly text: string; readonly isCut: boolean } | 'leads-out' | 'unreadable'> {
  const real = await realPathOf(path);
  if (real === undefined) return 'unreadable';
  if (!isInside(root, real)) return 'leads-out';
  try {
    // Opening a FIFO without O_NONBLOCK would wait for a writer. Windows has neither.
    const file = await open(real, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await file.stat();
      if (!stats.isFile()) return 'unreadable';
      const buffer = Buffer.alloc(Math.min(maxBytes, stats.size));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
      return { text: buffer.toString('utf8', 0, bytesRead), isCut: stats.size > bytesRead };
    } finally {
      await file.close();
    }
  } catch {
    // Gone or forbidden meanwhile: who asked says that it can't be read.
    return 'unreadable';
  }
}

async function realPathOf(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return !isAbsolute(way) && way.split(/[\\/]/)[0] !== '..';
}

const shadowed = (file: string, winner: Skill): SkillDiagnostic => ({
  file,
  type: 'shadowed',
  message: `The skill "${winner.name}" of ${winner.file} is used in its place.`,
  severity: 'medium',
});

const leadsOut = (file: string): SkillDiagnostic => ({
  file,
  type: 'leads-out',
  message: 'It is a link that leads out of its folder, and is left out.',
  severity: 'medium',
});

const missing = (file: string): SkillDiagnostic => ({
  file,
  type: 'missing-folder',
  message: 'It is not there.',
  severity: 'medium',
});

const tooMany = (file: string, what: string): SkillDiagnostic => ({
  file,
  type: 'scan-limit',
  message: `It has ${what}; what lies there is left out.`,
  severity: 'medium',
});

const unreadable = (file: string, thrown?: unknown): SkillDiagnostic => ({
  file,
  type: 'unreadable',
  message: `It can't be read${thrown instanceof Error ? `: ${thrown.message}` : ''}.`,
  severity: 'high',
});
