/** Loads the configuration once: flags > environment > env files > defaults; and the settings files beside it. */
import path from 'node:path';
import type { RuleText } from '../permissions/types.js';
import { PRESETS } from '../providers/presets.js';
import { type Config, configFrom } from './config.js';
import { envFilePaths, localEnvFile, readEnvFile, unusedNotice } from './env-files.js';
import type { Environment } from './environment.js';
import { type Folders, foldersFor } from './folders.js';
import { type ConfigNotice, configError, type Origin, type Problem } from './problems.js';
import { chooseProvider, type ProviderPreset } from './provider-choice.js';
import { type Flags, flagLayer, type Layer, type Resolved, resolveSettings, secretsIn } from './resolve.js';
import { isVariable, VARIABLES } from './schema.js';
import { loadSettings } from './settings.js';
import { openTrust, type Trust } from './trust.js';

export type LoadedConfig = {
  readonly config: Config;
  /** Where each value came from, by variable name. */
  readonly origins: Readonly<Record<string, Origin>>;
  /** Every key that any source holds, also of providers not in use: the masker's list. */
  readonly secretValues: readonly string[];
  readonly notices: readonly ConfigNotice[];
  /** Rules of the settings files: the user's, then those of a trusted project. Their grammar is not read yet. */
  readonly settingRules: readonly RuleText[];
  /** Variables that the user lets child processes have besides the usual ones. */
  readonly shellEnv: readonly string[];
  /** What the user trusts of the project that the run is in. */
  readonly trust: Trust;
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
  /** The user's word, by flag, that the project is trusted for this run. */
  readonly trustsWorkspace?: boolean;
  /** In the order in which a key that is set chooses one; absent: those of providers/presets. */
  readonly presets?: readonly ProviderPreset[];
  readonly homedir?: string;
  readonly platform?: NodeJS.Platform;
};

/**
 * Reads flags, environment, env files and settings files. Nothing is ever put into `process.env`.
 * @throws {ConfigError} for an env file that was named and can't be read, for a settings file or a store of trust that
 * can't be understood, and one for all values that are not valid.
 */
export async function loadConfig(request: LoadRequest): Promise<LoadedConfig> {
  const folders = foldersFor(request);
  const { env, cwd, flags: { envFile, ...flags } = {}, trustsWorkspace = false } = request;
  const paths = envFilePaths({ env, cwd, envFile }, folders);
  const trust = await openTrust({ stateFolder: folders.state, cwd, trustsWorkspace });
  const [files, local, settings] = await Promise.all([
    Promise.all(paths.map(readEnvFile)),
    localEnvFile(trust),
    loadSettings({ configFolder: folders.config, ...(trust.isTrusted && { projectRoot: trust.root }) }),
  ]);
  const isNamed = paths.some((named) => named.path === path.resolve(cwd, '.env'));
  const localLayer: Layer[] =
    local?.state === 'trusted' && !isNamed ? [{ origin: `file:${local.path}`, values: local.values }] : [];
  const layers = [
    flagLayer(flags),
    { origin: 'environment', values: env } as const,
    ...files.flatMap(({ layer }) => layer ?? []),
    ...localLayer,
  ];
  const secretValues = secretsIn(layers);
  const resolved = resolveSettings(layers);
  const config = composeConfig(request, folders, resolved, secretValues);
  const notices = [
    ...files.flatMap(({ notice }) => notice ?? []),
    ...(isNamed ? [] : unusedNotice(local, layers, folders)),
    ...settings.warnings.map((text) => ({ code: 'settings-without-effect', text }) as const),
    ...uncheckedTlsNotice(env),
  ];
  const { rules: settingRules, shellEnv } = settings;
  return { config, origins: resolved.origins, secretValues, notices, settingRules, shellEnv, trust };
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

/** Somebody who set this expects that certificates are not looked at, and has to know why a connection fails. */
function uncheckedTlsNotice(env: Environment): readonly ConfigNotice[] {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return [];
  const text =
    'NODE_TLS_REJECT_UNAUTHORIZED=0 has no effect here: certificates are always checked. ' +
    'To trust one more issuer, set CHATCLI_CA_BUNDLE to a PEM file with its certificate.';
  return [{ code: 'tls-check-stays', text }];
}
