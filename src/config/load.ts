/** Loads the configuration once: flags > environment > env files > defaults. The only place that reads env files. */
import path from 'node:path';
import { ConfigError, messageOf } from '../errors.js';
import { PRESETS } from '../providers/presets.js';
import { boundedRead } from './bounded-read.js';
import { type Config, configFrom } from './config.js';
import type { Environment } from './environment.js';
import { type Folders, foldersFor } from './folders.js';
import { configError, type Origin, type Problem } from './problems.js';
import { chooseProvider, type ProviderPreset } from './provider-choice.js';
import { type Flags, flagLayer, type Layer, type Resolved, resolveSettings, secretsIn } from './resolve.js';
import { canonicalName, isFileVariable, isVariable, VARIABLES, type Variable } from './schema.js';

/** Something to tell the person in one line; it stops nothing. */
export type ConfigNotice = {
  readonly code: 'dotenv-not-read' | 'env-file-unreadable' | 'tls-check-stays';
  readonly text: string;
};

export type LoadedConfig = {
  readonly config: Config;
  /** Where each value came from, by variable name. */
  readonly origins: Readonly<Record<string, Origin>>;
  /** Every key that any source holds, also of providers not in use: the masker's list. */
  readonly secretValues: readonly string[];
  readonly notices: readonly ConfigNotice[];
};

/** Flags that matter to the configuration, as typed. */
export type ConfigFlags = Flags & { readonly envFile?: string | undefined };

export type LoadRequest = {
  readonly env: Environment;
  /** Absolute; relative file names count from here. */
  readonly cwd: string;
  readonly flags?: ConfigFlags;
  /** Only models are to be listed: a key and a model may be missing. */
  readonly isForListing?: boolean;
  /** In the order in which a key that is set chooses one; absent: those of providers/presets. */
  readonly presets?: readonly ProviderPreset[];
  readonly homedir?: string;
  readonly platform?: NodeJS.Platform;
};

const ENV_FILE_MAX_BYTES = 64 * 1024; // A thousand variables; anything longer is another kind of file.

/**
 * Reads flags, environment and env files. Nothing is ever put into `process.env`.
 * @throws {ConfigError} for an env file that was named and can't be read, and one for all values that are not valid.
 */
export async function loadConfig(request: LoadRequest): Promise<LoadedConfig> {
  const folders = foldersFor(request);
  const paths = envFilePaths(request, folders);
  const [files, unread] = await Promise.all([
    Promise.all(paths.map(readEnvFile)),
    peekLocalEnvFile(request.cwd, paths),
  ]);
  const { envFile: _, ...flags } = request.flags ?? {};
  const layers = [
    flagLayer(flags),
    { origin: 'environment', values: request.env } as const,
    ...files.flatMap(({ layer }) => layer ?? []),
  ];
  const secretValues = secretsIn(layers);
  const resolved = resolveSettings(layers);
  const config = composeConfig(request, folders, resolved, secretValues);
  const notices = [
    ...files.flatMap(({ notice }) => notice ?? []),
    ...unreadNotice(unread, layers, folders),
    ...uncheckedTlsNotice(request.env),
  ];
  return { config, origins: resolved.origins, secretValues, notices };
}

type EnvFilePath = { readonly path: string; readonly namedBy: '--env-file' | 'CHATCLI_DOTENV' | undefined };

/** Highest first. */
function envFilePaths({ env, cwd, flags }: LoadRequest, folders: Folders): readonly EnvFilePath[] {
  if (flags?.envFile?.trim() === '') throw new ConfigError('--env-file needs the path of a file.');
  const named = [
    { file: flags?.envFile, namedBy: '--env-file' },
    { file: env.CHATCLI_DOTENV?.trim(), namedBy: 'CHATCLI_DOTENV' },
  ] as const;
  const paths: EnvFilePath[] = named.flatMap(({ file, namedBy }) =>
    file ? [{ path: path.resolve(cwd, file), namedBy }] : [],
  );
  return [...paths, { path: path.join(folders.config, '.env'), namedBy: undefined }];
}

type EnvFile = { readonly layer?: Layer; readonly notice?: ConfigNotice };

/** Nothing where the file of the config folder is not there; a notice where it may not be read. */
async function readEnvFile({ path: file, namedBy }: EnvFilePath): Promise<EnvFile> {
  const name = `the env file ${file}${namedBy ? `, named by ${namedBy}` : ''}`;
  let content: string | undefined;
  try {
    // A named file may be a pipe, such as <(pass show chatcli).
    content = await boundedRead(file, { maxBytes: ENV_FILE_MAX_BYTES, anyKind: namedBy !== undefined });
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
    throw new ConfigError(`Cannot read ${name}: it is not a file of at most ${ENV_FILE_MAX_BYTES / 1024} kB.`);
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

function composeConfig(
  request: LoadRequest,
  folders: Folders,
  resolved: Resolved,
  secretValues: readonly string[],
): Config {
  const problems = [...resolved.problems, ...unpairedPrice(resolved)];
  // A value that is not valid counts as not set, so a complaint about what is missing would be about the wrong thing.
  const isProviderReadable = !problems.some(({ variable }) => isProviderVariable(variable));
  const chosen = isProviderReadable
    ? chooseProvider(resolved.values, {
        presets: request.presets ?? PRESETS,
        cwd: request.cwd,
        envFile: path.join(folders.config, '.env'),
        isForListing: request.isForListing ?? false,
        nameOrigin: resolved.origins.CHATCLI_PROVIDER ?? 'default',
      })
    : undefined;
  if (chosen && 'problem' in chosen) problems.push(chosen.problem);
  if (problems.length > 0 || !chosen || !('choice' in chosen)) throw configError(problems, secretValues);
  const nodeExtraCertificates = request.env.NODE_EXTRA_CA_CERTS;
  return configFrom(resolved, { provider: chosen.choice, folders, cwd: request.cwd, nodeExtraCertificates });
}

function isProviderVariable(name: string): boolean {
  return isVariable(name) && ['provider', 'keys'].includes(VARIABLES[name].group);
}

/** With one price alone, the cost of a run would be counted too low and a budget overrun. */
function unpairedPrice({ values, problems }: Resolved): readonly Problem[] {
  const names = ['CHATCLI_PRICE_INPUT', 'CHATCLI_PRICE_OUTPUT'] as const;
  const missing = names.filter((name) => values[name] === undefined);
  const isInvalid = problems.some(({ variable }) => missing.some((name) => name === variable));
  if (missing.length !== 1 || isInvalid) return [];
  return missing.map((variable) => ({
    variable,
    text: `${variable} is not set: ${names.join(' and ')} only count together.`,
  }));
}

/** What `./.env` would set, were it read. Empty where it is read anyway, isn't there or is no small regular file. */
async function peekLocalEnvFile(cwd: string, paths: readonly EnvFilePath[]): Promise<Environment> {
  const file = path.resolve(cwd, '.env');
  if (paths.some((envFile) => envFile.path === file)) return {};
  try {
    const content = await boundedRead(file, { maxBytes: ENV_FILE_MAX_BYTES });
    return content === undefined ? {} : await ownVariables(content);
  } catch {
    return {}; // Nobody asked for this file, so that it can't be read is no news.
  }
}

/** One notice that names the keys, never the values, of a `./.env` that says something else than what is in force. */
function unreadNotice(unread: Environment, layers: readonly Layer[], folders: Folders): readonly ConfigNotice[] {
  const isInForce = (name: string, value: string) =>
    layers.find((layer) => layer.values[name]?.trim())?.values[name]?.trim() === value;
  const names = Object.entries(unread)
    .filter(([name, text]) => text?.trim() && !isInForce(name, text.trim()))
    .map(([name]) => name);
  if (names.every(isShared)) return [];
  const text =
    `./.env is not read by itself (it sets ${names.join(', ')}). ` +
    `To use it: --env-file .env for one run, or copy it to ${path.join(folders.config, '.env')}.`;
  return [{ code: 'dotenv-not-read', text }];
}

/** Somebody who set this expects that certificates are not looked at, and has to know why a connection fails. */
function uncheckedTlsNotice(env: Environment): readonly ConfigNotice[] {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return [];
  const text =
    'NODE_TLS_REJECT_UNAUTHORIZED=0 has no effect here: certificates are always checked. ' +
    'To trust one more issuer, set CHATCLI_CA_BUNDLE to a PEM file with its certificate.';
  return [{ code: 'tls-check-stays', text }];
}

function isShared(spelling: string): boolean {
  const name = canonicalName(spelling);
  const variable: Variable | undefined = isVariable(name) ? VARIABLES[name] : undefined;
  return variable?.shared === true;
}
