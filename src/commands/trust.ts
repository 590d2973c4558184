/**
 * `chatcli trust`: what a project brings that counts only once it is trusted, and the words that trust it. It never
 * asks: who types `add` or `env` has said it.
 */
import { dirname, parse } from 'node:path';
import { type LocalEnvFile, localEnvFile } from '../config/env-files.js';
import { storedTrust, storeTrust, type Trust } from '../config/trust.js';
import { UsageError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { clean } from '../tools/clean.js';
import { safeName } from '../tools/walk.js';
import type { RunFlags } from './flags.js';
import { type Io, pathFrom } from './io.js';
import { goneFrom, itemsOf, type ProjectItem, trustAt, type UserFolders } from './project.js';
import type { SideRun } from './side-commands.js';

type Here = { readonly trust: Trust; readonly stateFolder: string; readonly user: UserFolders; readonly io: Io };

const ACTIONS: ReadonlyMap<string, (here: Here) => Promise<string>> = new Map([
  ['', show],
  ['add', trustFolder],
  ['env', trustEnvFile],
  ['remove', forget],
  ['list', list],
]);

/** Does what the action says, and prints what holds now. */
export const runTrust: SideRun = async ({ flags, action }, io) => {
  const act = ACTIONS.get(action);
  if (act === undefined) throw new Error(`trust has no action ${action}`);
  const here = await trustAt(io.env, pathFrom(io.cwd, (flags as Partial<RunFlags>).cwd));
  io.stdout.write(await act({ ...here, io }));
  return EXIT.answered;
};

async function show({ trust, user }: Here): Promise<string> {
  const items = await itemsOf(trust, user);
  const envFile = await localEnvFile(trust);
  const gone = await goneFrom(trust);
  const hasWaiting = gone.length > 0 || items.some(({ state }) => state !== 'trusted');
  const isUnused = envFile !== undefined && envFile.state !== 'trusted' && namesOf(envFile).length > 0;
  const hints = [
    ...(hasWaiting && !trust.isTrusted
      ? ['To use all of these: chatcli trust add. For one run: --trust-workspace.']
      : []),
    ...(hasWaiting && trust.isTrusted ? ['To go by what is there now: chatcli trust add.'] : []),
    ...(isUnused ? ['To use ./.env as it is now: chatcli trust env. For one run: --env-file .env.'] : []),
  ];
  return textOf([
    `${safeName(trust.root)}: ${trust.isTrusted ? 'trusted' : 'not trusted'}`,
    ...(items.length === 0 ? ['  It has no settings, servers, agents or skills of its own.'] : rowsOf(items)),
    ...gone.map((name) => `  ${safeName(name)}: gone since you trusted it`),
    ...(envFile === undefined ? [] : [`  ${describeEnvFile(envFile)}`]),
    ...hints,
  ]);
}

/** Trusts the folder, and all that is in it as it is now. */
async function trustFolder({ trust, stateFolder, user, io }: Here): Promise<string> {
  const items = await itemsOf(trust, user);
  const hashes = items.flatMap(({ name, sha256 }) => (sha256 === undefined ? [] : [[name, sha256] as const]));
  const gone = await goneFrom(trust);
  await storeTrust(stateFolder, trust.root, ({ items: before, envFiles }) => ({
    isTrusted: true,
    items: new Map([...[...before].filter(([name]) => !gone.includes(name)), ...hashes]),
    envFiles,
  }));
  if (isWide(trust.root, user.home)) {
    io.stderr.write(
      `warning: ${safeName(trust.root)} holds all your projects, or more: what lies in it and is in no repository of its own now counts as trusted. To take it back: chatcli trust remove.\n`,
    );
  }
  const known = new Map(hashes);
  const rows = items.map((item) => ({ ...item, state: known.has(item.name) ? 'trusted' : item.state }) as const);
  return textOf([`${safeName(trust.root)}: trusted`, ...rowsOf(rows)]);
}

/** Trusts the very content that `./.env` has now. */
async function trustEnvFile({ trust, stateFolder }: Here): Promise<string> {
  const file = await localEnvFile(trust);
  if (file === undefined) {
    throw new UsageError(`There is no file .env of at most 64 kB in ${safeName(trust.cwd)}.`);
  }
  if (namesOf(file).length === 0) {
    throw new UsageError(`${safeName(file.path)} sets nothing of ours, so there is nothing to trust.`);
  }
  await storeTrust(stateFolder, trust.root, (before) => ({
    ...before,
    envFiles: new Map([...before.envFiles, [file.name, file.sha256]]),
  }));
  return textOf([describeEnvFile({ ...file, state: 'trusted' })]);
}

async function forget({ trust, stateFolder }: Here): Promise<string> {
  const known = (await storedTrust(stateFolder)).has(trust.root);
  if (known) await storeTrust(stateFolder, trust.root, () => undefined);
  return textOf([`${safeName(trust.root)}: ${known ? 'no longer trusted' : 'was not trusted'}`]);
}

async function list({ stateFolder }: Here): Promise<string> {
  const entries = [...(await storedTrust(stateFolder))].toSorted(([one], [other]) => (one < other ? -1 : 1));
  if (entries.length === 0) return textOf(['No folder is trusted.']);
  return textOf(
    entries.map(([root, { isTrusted, items, envFiles }]) => {
      const parts = [
        ...(isTrusted ? [`the folder, with ${items.size} contents`] : []),
        ...[...envFiles.keys()].map((name) => safeName(name)),
      ];
      return `${safeName(root)}: ${parts.join(', ')}`;
    }),
  );
}

/** Whether most of what the user has lies below. */
function isWide(root: string, home: string): boolean {
  for (let folder = home; ; folder = dirname(folder)) {
    if (folder === root) return true;
    if (folder === parse(folder).root) return false;
  }
}

/** What each kind would do. */
const MEANING: Readonly<Record<ProjectItem['kind'], string>> = {
  settings: 'settings: rules that deny and ask',
  'MCP servers': 'MCP servers: of no effect yet',
  agent: 'agent: of no effect yet',
  skill: 'skill: instructions, and scripts they speak of',
};

function rowsOf(items: readonly ProjectItem[]): readonly string[] {
  const cells = items.map(({ kind, name, state, problem }) => [
    `  ${safeName(name)}`,
    MEANING[kind],
    problem === undefined ? state : `can't be trusted: ${clean(problem)}`,
  ]);
  const widths = [0, 1].map((column) => Math.max(0, ...cells.map((row) => (row[column] ?? '').length)));
  return cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
}

/** Keys, never values. */
function describeEnvFile(file: LocalEnvFile): string {
  const names = namesOf(file);
  if (names.length === 0) return './.env: sets nothing of ours';
  const states = {
    trusted: 'trusted with this content',
    changed: 'changed since you trusted it, not used',
    new: 'not used',
  };
  return `./.env: sets ${names.join(', ')}: ${states[file.state]}`;
}

function namesOf({ values }: LocalEnvFile): readonly string[] {
  return Object.entries(values).flatMap(([name, text]) => (text?.trim() ? [name] : []));
}

function textOf(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}
