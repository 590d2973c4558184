/** Env files: which are read, what of them counts, and what is said of a `./.env` that is not used. The only reader of them. */
import path from 'node:path';
import { ConfigError, messageOf } from '../errors.js';
import { boundedRead } from './bounded-read.js';
import type { Environment } from './environment.js';
import type { Folders } from './folders.js';
import type { ConfigNotice } from './problems.js';
import type { Layer } from './resolve.js';
import { canonicalName, isFileVariable, isProjectVariable, isVariable, VARIABLES, type Variable } from './schema.js';
import { type ContentState, nameIn, sha256Of, type Trust } from './trust.js';

const MAX_BYTES = 64 * 1024; // A thousand variables; anything longer is another kind of file.

export type EnvFilePath = { readonly path: string; readonly namedBy: '--env-file' | 'CHATCLI_DOTENV' | undefined };

/**
 * The files that are read by themselves or were named, highest first. Relative ones count from `cwd`.
 * @throws {ConfigError} for a flag without a path.
 */
export function envFilePaths(
  { env, cwd, envFile }: { readonly env: Environment; readonly cwd: string; readonly envFile: string | undefined },
  folders: Folders,
): readonly EnvFilePath[] {
  if (envFile?.trim() === '') throw new ConfigError('--env-file needs the path of a file.');
  const named = [
    { file: envFile, namedBy: '--env-file' },
    { file: env.CHATCLI_DOTENV?.trim(), namedBy: 'CHATCLI_DOTENV' },
  ] as const;
  const paths: EnvFilePath[] = named.flatMap(({ file, namedBy }) =>
    file ? [{ path: path.resolve(cwd, file), namedBy }] : [],
  );
  return [...paths, { path: path.join(folders.config, '.env'), namedBy: undefined }];
}

type EnvFile = { readonly layer?: Layer; readonly notice?: ConfigNotice };

/**
 * Nothing where the file of the config folder is not there; a notice where it may not be read.
 * @throws {ConfigError} for one that was named, or that is no text.
 */
export async function readEnvFile({ path: file, namedBy }: EnvFilePath): Promise<EnvFile> {
  const name = `the env file ${file}${namedBy ? `, named by ${namedBy}` : ''}`;
  let content: string | undefined;
  try {
    // A named file may be a pipe, such as <(pass show chatcli).
    content = await boundedRead(file, { maxBytes: MAX_BYTES, anyKind: namedBy !== undefined });
  } catch (cause) {
    const isMissing = hasCode(cause, 'ENOENT', 'ENOTDIR');
    if (namedBy === undefined && isMissing) return {};
    const text = `Cannot read ${name}: ${isMissing ? 'there is no such file' : messageOf(cause)}.`;
    // Nobody asked for this one: a run that has all it needs from elsewhere need not stand still for it.
    if (namedBy === undefined && hasCode(cause, 'EACCES', 'EPERM'))
      return { notice: { code: 'env-file-unreadable', text: `${text} Going on without it.` } };
    throw new ConfigError(text, { cause });
  }
  if (content === undefined) {
    throw new ConfigError(`Cannot read ${name}: it is not a file of at most ${MAX_BYTES / 1024} kB.`);
  }
  if (content.includes('\0')) throw new ConfigError(`Cannot read ${name}: it is not UTF-8 text.`);
  return { layer: { origin: `file:${file}`, values: await ownVariables(content) } };
}

function hasCode(thrown: unknown, ...codes: readonly string[]): boolean {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' && codes.includes(code);
}

/** Only names of our schema: an env file must not be able to set PATH, NODE_OPTIONS or CHATCLI_HOME. */
async function ownVariables(content: string): Promise<Environment> {
  // Most runs have no env file at all.
  const { default: dotenv } = await import('dotenv');
  return Object.fromEntries(Object.entries(dotenv.parse(content)).filter(([name]) => isFileVariable(name)));
}

/** The `./.env` of the folder that a run is in. */
export type LocalEnvFile = {
  readonly path: string;
  /** Below the project's root. */
  readonly name: string;
  readonly sha256: string;
  /** Whether the user trusts this very content. */
  readonly state: ContentState;
  /** Of ours only. */
  readonly values: Environment;
};

/** Undefined where it isn't there, is no small regular file, or is no text. */
export async function localEnvFile(trust: Trust): Promise<LocalEnvFile | undefined> {
  const file = path.join(trust.cwd, '.env');
  try {
    const content = await boundedRead(file, { maxBytes: MAX_BYTES });
    if (content === undefined || content.includes('\0')) return undefined;
    const name = nameIn(trust.root, file);
    const sha256 = sha256Of(content);
    const own = Object.entries(await ownVariables(content)).filter(([variable]) => isProjectVariable(variable));
    return { path: file, name, sha256, state: trust.envFileState(name, sha256), values: Object.fromEntries(own) };
  } catch {
    return undefined; // Nobody asked for this file, so that it can't be read is no news.
  }
}

/** One notice that names the keys, never the values, of a `./.env` that says something else than what is in force. */
export function unusedNotice(
  local: LocalEnvFile | undefined,
  layers: readonly Layer[],
  folders: Folders,
): readonly ConfigNotice[] {
  if (local === undefined || local.state === 'trusted') return [];
  const isInForce = (name: string, value: string) =>
    layers.find((layer) => layer.values[name]?.trim())?.values[name]?.trim() === value;
  const names = Object.entries(local.values)
    .filter(([name, text]) => text?.trim() && !isInForce(name, text.trim()))
    .map(([name]) => name);
  if (names.every(isShared)) return [];
  const why =
    local.state === 'changed'
      ? './.env has changed since you trusted it, and is not used'
      : './.env is not read by itself';
  const text =
    `${why} (it sets ${names.join(', ')}). To use it: --env-file .env for one run, ` +
    `chatcli trust env for every run until it changes, or copy it to ${path.join(folders.config, '.env')}.`;
  return [{ code: 'dotenv-not-read', text }];
}

function isShared(spelling: string): boolean {
  const name = canonicalName(spelling);
  const variable: Variable | undefined = isVariable(name) ? VARIABLES[name] : undefined;
  return variable?.shared === true;
}
