/** What a project brings that counts only once the user trusts it: where it is, how each item stands, and what to say. */
import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '../config/environment.js';
import { foldersFor, homeOf } from '../config/folders.js';
import { PROJECT_SETTINGS } from '../config/settings.js';
import { type ContentState, nameIn, openTrust, type Trust } from '../config/trust.js';
import { findSkillPages, type SkillFolder, type SkillPage, skillFolders } from '../context/skills.js';
import { clean } from '../tools/clean.js';
import { safeName } from '../tools/walk.js';
import { hashOf } from './project-hash.js';

export type ItemKind = 'settings' | 'MCP servers' | 'agent' | 'skill';

/** Something in a project that trust would enable. */
export type ProjectItem = {
  readonly kind: ItemKind;
  /** Below the root, with `/`. */
  readonly name: string;
  readonly path: string;
  /** Absent where there is none: then `problem` says why, and it counts for one run at most. */
  readonly sha256?: string;
  readonly problem?: string;
  readonly state: ContentState;
};

export type Project = {
  readonly trust: Trust;
  readonly skillFolders: readonly SkillFolder[];
  /** Whether a skill may be used: the user's own, or one of the project whose content is trusted, now as at the start. */
  readonly maySkill: (page: Pick<SkillPage, 'scope' | 'file'>) => Promise<boolean>;
  readonly notices: readonly { readonly code: string; readonly text: string }[];
};

export type UserFolders = { readonly home: string; readonly config: string };

const AGENT_FOLDERS = [join('.chatcli', 'agents'), join('.claude', 'agents')];
const NAMES_AT_MOST = 12;
const MCP_SERVERS = '.mcp.json';

/**
 * What the user trusts of the project that a folder is in, for commands that need no configuration.
 * @throws {ConfigError} when `CHATCLI_HOME` names a folder that can't be ours, or the store is broken.
 */
export async function trustAt(env: Environment, cwd: string) {
  const { state, config } = foldersFor({ env, cwd });
  const home = homeOf(env);
  const trust = await openTrust({ stateFolder: state, cwd, home, trustsWorkspace: false });
  return { trust, stateFolder: state, user: { home, config } };
}

/** Looks at the project of a run. What is in a folder that is not trusted is only named. */
export async function openProject(trust: Trust, user: UserFolders): Promise<Project> {
  const folders = skillFoldersOf(trust, user);
  if (!trust.isTrusted) {
    const names = await namesIn(trust, folders);
    const mine = folders.filter(({ scope }) => scope === 'user');
    return { trust, skillFolders: mine, maySkill: async ({ scope }) => scope === 'user', notices: notTrusted(names) };
  }
  const items = await itemsOf(trust, user);
  const atStart = new Map(items.map((item) => [item.path, item]));
  return {
    trust,
    skillFolders: folders,
    maySkill: async ({ scope, file }) => {
      if (scope === 'user') return true;
      const item = atStart.get(dirname(file));
      if (item?.state !== 'trusted') return false;
      // Too much to hash, but the user's word for this run was given.
      if (item.sha256 === undefined) return true;
      const now = await hashOf(item.path);
      return 'sha256' in now && now.sha256 === item.sha256;
    },
    notices: notAsTrusted([
      ...items.filter(({ state }) => state !== 'trusted').map(described),
      ...(await goneFrom(trust)).map(gone),
    ]),
  };
}

/** All that trust would enable, with its content's hash. */
export async function itemsOf(trust: Trust, user: UserFolders): Promise<readonly ProjectItem[]> {
  const found = await pathsIn(trust);
  const { pages } = await findSkillPages(skillFoldersOf(trust, user).filter(({ scope }) => scope === 'project'));
  const skills = pages.map(({ file }) => ({ kind: 'skill', path: dirname(file) }) as const);
  return Promise.all([...found, ...skills].map((item) => itemOf(trust, item)));
}

type Found = { readonly kind: ItemKind; readonly path: string };

async function itemOf(trust: Trust, { kind, path }: Found): Promise<ProjectItem> {
  const name = nameIn(trust.root, path);
  const hash = await hashOf(path);
  if ('problem' in hash)
    return { kind, name, path, problem: hash.problem, state: trust.isForThisRun ? 'trusted' : 'new' };
  return { kind, name, path, sha256: hash.sha256, state: trust.itemState(name, hash.sha256) };
}

/** Settings, servers and agents lie at the root. */
async function pathsIn({ root, isHome }: Trust): Promise<readonly Found[]> {
  if (isHome) return [];
  const settings = await present(PROJECT_SETTINGS.map((name) => join(root, name)));
  const servers = await present([join(root, MCP_SERVERS)]);
  const agents = await Promise.all(AGENT_FOLDERS.map((folder) => pagesIn(join(root, folder))));
  return [
    ...settings.map((path) => ({ kind: 'settings', path }) as const),
    ...servers.map((path) => ({ kind: 'MCP servers', path }) as const),
    ...agents.flat().map((path) => ({ kind: 'agent', path }) as const),
  ];
}

/** Skills lie in the folder of the run, or at the root. In the home folder they are the user's. */
export function skillFoldersOf({ cwd, root }: Trust, { home, config }: UserFolders): readonly SkillFolder[] {
  const user = skillFolders({ root, home, config }).filter(({ scope }) => scope === 'user');
  const isUsers = (path: string) => user.some((folder) => folder.path === path);
  const project = [...new Set([cwd, root])].flatMap((base) =>
    skillFolders({ root: base, home, config }).filter(({ scope, path }) => scope === 'project' && !isUsers(path)),
  );
  return [...project, ...user];
}

/** The names of what is there, folders as a whole. */
async function namesIn(trust: Trust, folders: readonly SkillFolder[]): Promise<readonly string[]> {
  const found = await pathsIn(trust);
  const files = found.map(({ kind, path }) => (kind === 'agent' ? dirname(path) : path));
  const skills: string[] = [];
  for (const { scope, path } of folders)
    if (scope === 'project' && (await entriesOf(path)).length > 0) skills.push(path);
  return [...new Set([...files, ...skills])].map((path) => safeName(nameIn(trust.root, path)));
}

async function present(paths: readonly string[]): Promise<readonly string[]> {
  const there: string[] = [];
  for (const path of paths) if (await lstat(path).catch(() => undefined)) there.push(path);
  return there;
}

async function pagesIn(folder: string): Promise<readonly string[]> {
  const names = (await entriesOf(folder)).map(({ name }) => name).filter((name) => name.endsWith('.md'));
  return names.toSorted().map((name) => join(folder, name));
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch(() => []);
}

/** A hostile project may hold any number of names. */
function listed(names: readonly string[]): string {
  const more = names.length - NAMES_AT_MOST;
  return [...names.slice(0, NAMES_AT_MOST), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

function notTrusted(names: readonly string[]): Project['notices'] {
  if (names.length === 0) return [];
  const text =
    `This folder is not trusted, so these of it are not used: ${listed(names)}. ` +
    'To see what they are: chatcli trust. To use them: --trust-workspace for one run, chatcli trust add for every run until they change.';
  return [{ code: 'workspace-not-trusted', text }];
}

function notAsTrusted(items: readonly string[]): Project['notices'] {
  if (items.length === 0) return [];
  const text = `Not as you trusted it: ${listed(items)}. To go by what is there now: chatcli trust add.`;
  return [{ code: 'trusted-content-changed', text }];
}

/** The names of what was trusted and is not there any more: with a file go its rules, which may have kept something from being run. */
export async function goneFrom({ root, itemNames }: Trust): Promise<readonly string[]> {
  const there = await present(itemNames.map((name) => join(root, name)));
  return itemNames.filter((name) => !there.includes(join(root, name)));
}

function gone(name: string): string {
  return `${safeName(name)} (gone${name.endsWith('.json') ? ', with any rules in it' : ''})`;
}

/** Rules that deny and ask can't do harm, and without them more would be allowed: so they count all the same. */
function described({ kind, name, state, problem }: ProjectItem): string {
  const rules = kind === 'settings' ? '; its rules that deny and ask count' : '; not used';
  return `${safeName(name)} (${problem === undefined ? state : clean(problem)}${rules})`;
}
