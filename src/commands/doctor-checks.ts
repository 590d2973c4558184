/** The checks of `chatcli doctor`. Each looks at one thing, changes nothing, and says what to do where it is not well. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { release } from 'node:os';
import { dirname } from 'node:path';
import type { Config } from '../config/config.js';
import { type Folders, foldersFor } from '../config/folders.js';
import { type LoadedConfig, loadConfig } from '../config/load.js';
import { NO_KEY } from '../config/provider-choice.js';
import { ChatcliError, messageOf } from '../errors.js';
import { maskStrings } from '../events/emitter.js';
import { childEnvironment } from '../permissions/secrets.js';
import { PRESETS } from '../providers/presets.js';
import { findRipgrep } from '../tools/search-files/find-ripgrep.js';
import { findProgram } from '../tools/shell/environment.js';
import { openShell } from '../tools/shell/open-shell.js';
import { findSandbox } from '../tools/shell/sandbox.js';
import { accountHomes, groundProblem } from '../tools/shell/sandbox-policy.js';
import { createWorkspace, type Workspace } from '../tools/workspace.js';
import type { RunFlags } from './flags.js';
import { hasTerminal, type Io } from './io.js';
import { createRedactor } from './redactor.js';
import { loadRules } from './rule-sources.js';

/** `problem`: no task can run. `warning`: something does not work, or works less well. */
export type CheckLevel = 'ok' | 'warning' | 'problem';

export type Check = {
  readonly name: string;
  readonly level: CheckLevel;
  readonly found: string;
  /** What to do. */
  readonly advice?: string;
};

type Subject = {
  readonly io: Io;
  readonly cwd: string;
  readonly flags: Pick<RunFlags, 'provider' | 'envFile'>;
};

const NODE_AT_LEAST = 20;

/** All checks, in the order in which they are shown. Secrets are masked. */
export async function examine({ io, cwd, flags }: Subject): Promise<readonly Check[]> {
  const { env } = io;
  const loading = await attempt(() =>
    loadConfig({ env, cwd, flags: { provider: flags.provider, envFile: flags.envFile } }),
  );
  const folders = await attempt(async () => foldersFor({ env, cwd }));
  const workspace = await attempt(() => createWorkspace({ root: cwd }));
  const path = childEnvironment(env).PATH ?? '';
  const loaded = 'value' in loading ? loading.value : undefined;
  const opened = 'value' in workspace ? workspace.value : undefined;
  const checks = [
    nodeCheck(),
    ok('system', `${process.platform} ${process.arch}, ${release()}`),
    ...('value' in loading ? configChecks(loading.value, env) : [loading.check('configuration')]),
    ...('value' in folders ? await folderChecks(folders.value) : [folders.check('folders')]),
    ...('value' in workspace ? [ok('workspace', workspace.value.root)] : [workspace.check('workspace')]),
    ...(loaded === undefined ? [] : [trustCheck(loaded)]),
    ...(loaded === undefined ? [] : await ruleChecks(loaded, io, opened?.roots ?? [cwd])),
    await shellCheck(loaded?.config.shell, path, opened?.roots ?? []),
    await ripgrepCheck(opened, childEnvironment(env)),
    await programCheck('git', path, 'Without it changes can neither be shown by git nor committed.'),
    await sandboxCheck(loaded?.config, opened?.roots ?? [], env.HOME),
    terminalCheck(io),
    ...(loaded === undefined ? [] : await networkChecks(loaded.config)),
    ...(loaded?.notices ?? []).map(
      ({ code, text }): Check => ({ name: 'notice', level: 'warning', found: `${text} (${code})` }),
    ),
  ];
  const { mask } = createRedactor(loaded?.secretValues ?? []);
  return checks.map((check) => maskStrings(check, mask));
}

type Attempt<Value> = { readonly value: Value } | { readonly check: (name: string) => Check };

async function attempt<Value>(work: () => Promise<Value>): Promise<Attempt<Value>> {
  try {
    return { value: await work() };
  } catch (thrown) {
    const hint = (thrown instanceof ChatcliError ? thrown.hint : undefined) ?? 'Change what is named here.';
    return { check: (name) => problem(name, messageOf(thrown), hint) };
  }
}

function nodeCheck(): Check {
  const { node } = process.versions;
  if (Number(node.split('.')[0]) >= NODE_AT_LEAST) return ok('node', `${node} (${process.execPath})`);
  return problem('node', `${node} is too old`, `Install Node ${NODE_AT_LEAST} or newer.`);
}

/** Nothing where all rules can be used: chatcli permissions lists them. */
async function ruleChecks(loaded: LoadedConfig, io: Io, roots: readonly string[]): Promise<readonly Check[]> {
  const rules = await attempt(() => loadRules({ io, flags: {}, loaded, roots }));
  return 'value' in rules ? [] : [rules.check('rules')];
}

function trustCheck({ trust: { root, isTrusted } }: LoadedConfig): Check {
  return ok(
    'trust',
    isTrusted ? `${root} is trusted` : `${root} is not trusted: chatcli trust shows what that leaves out`,
  );
}

/** Which provider a task would be sent to. Of keys only the names are told. */
function configChecks({ config }: LoadedConfig, env: Io['env']): Check[] {
  const keys = ['CHATCLI_API_KEY', 'OPENAI_API_KEY', ...PRESETS.flatMap(({ keyVariable }) => keyVariable ?? [])];
  const set = [...new Set(keys)].filter((name) => env[name]?.trim());
  const inEnvironment = set.length === 0 ? 'no key in the environment' : `in the environment: ${set.join(', ')}`;
  const choice = config.provider;
  if (choice.kind === 'scripted') return [ok('provider', `scripted, ${choice.scriptPath}`)];
  if (choice.kind === 'none') {
    const found = `none is set up (${inEnvironment}); a local server is looked for at each start`;
    return [warning('provider', found, 'Set OPENAI_API_KEY, another key or OPENAI_BASE_URL; see chatcli models.')];
  }
  const key = choice.apiKey === NO_KEY ? 'without a key' : 'key is set';
  const model = choice.model === undefined ? '' : `, model ${choice.model}`;
  return [ok('provider', `${choice.name}, ${withoutUser(choice.baseUrl)}${model}, ${key} (${inEnvironment})`)];
}

function withoutUser(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//');
}

async function folderChecks(folders: Folders): Promise<Check[]> {
  return [
    await folderCheck('config folder', folders.config, constants.R_OK, 'Its settings can not be read.'),
    await folderCheck('state folder', folders.state, constants.W_OK, 'Long output, trust and sessions are kept there.'),
  ];
}

async function folderCheck(name: string, folder: string, right: number, why: string): Promise<Check> {
  const nearest = await nearestExisting(folder);
  const isThere = nearest === folder;
  if (!(await stat(nearest)).isDirectory())
    return problem(name, `${nearest} is no folder`, `${why} Move that file away, or set CHATCLI_HOME.`);
  const may = await access(nearest, (isThere ? right : constants.W_OK) | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (may) return ok(name, isThere ? folder : `${folder} (made when it is needed)`);
  const advice = `${why} Change its owner or mode, or set CHATCLI_HOME to a folder of yours.`;
  // Nothing has to be read where there is nothing yet.
  if (right === constants.R_OK && !isThere) return ok(name, `${folder} (not there)`);
  return problem(name, `${folder} may not be ${right === constants.R_OK ? 'read' : 'written'}`, advice);
}

async function nearestExisting(path: string): Promise<string> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  return isThere || dirname(path) === path ? path : nearestExisting(dirname(path));
}

async function shellCheck(setting: string | undefined, path: string, roots: readonly string[]): Promise<Check> {
  const shell = await attempt(() => openShell({ setting, path, roots }));
  if ('check' in shell) return shell.check('shell');
  const file = shell.value ?? (await findProgram('bash', path));
  if (file !== undefined) return ok('shell', file);
  return warning('shell', '/bin/sh, since there is no bash', 'Install bash: models write their commands for it.');
}

async function ripgrepCheck(workspace: Workspace | undefined, environment: Record<string, string>): Promise<Check> {
  const file = workspace && (await findRipgrep({ workspace, childEnvironment: environment }));
  if (file !== undefined) return ok('ripgrep', file);
  return warning('ripgrep', 'not found', 'Searches work without it, but take longer in big projects. Install ripgrep.');
}

async function programCheck(name: string, path: string, why: string): Promise<Check> {
  const file = await findProgram(name, path);
  return file === undefined ? warning(name, 'not found', `${why} Install ${name}.`) : ok(name, file);
}

async function sandboxCheck(
  config: Config | undefined,
  roots: readonly string[],
  home: string | undefined,
): Promise<Check> {
  const isNeeded = config?.sandbox.setting === 'required' || config?.approvalMode === 'full-auto';
  const failed = isNeeded ? problem : warning;
  const found = await findSandbox();
  if (found.file === undefined) {
    const without = 'Without one full-auto is refused, and nothing but your answers and rules holds commands back.';
    return failed('sandbox', found.problem, `${found.hint} ${without}`);
  }
  const inTheWay = await groundProblem({ roots, homes: accountHomes(home) });
  if (inTheWay === undefined) return ok('sandbox', `${found.name}, ${found.file}: tried, works`);
  return failed('sandbox', `${found.name} works, but not here: ${inTheWay}`, 'Start in the folder of one project.');
}

function terminalCheck(io: Io): Check {
  if (!hasTerminal(io))
    return ok('terminal', 'none: nobody can be asked, and a task may only read until flags or rules say more');
  const { columns } = io.stderr;
  return ok('terminal', `${io.env.TERM ?? 'of no known kind'}${columns === undefined ? '' : `, ${columns} columns`}`);
}

async function networkChecks({ network }: Config): Promise<Check[]> {
  const { http, https, noProxy } = network.proxy;
  const ways = [
    ...(https === undefined ? [] : [`https by ${withoutUser(https)}`]),
    ...(http === undefined ? [] : [`http by ${withoutUser(http)}`]),
    ...(noProxy === undefined ? [] : [`straight to ${noProxy}`]),
  ];
  const checks = [ok('proxy', ways.length === 0 ? 'none' : ways.join('; '))];
  const { caBundle: bundle, nodeExtraCertificates: nodeExtra } = network;
  if (bundle === undefined)
    return [...checks, ok('certificates', nodeExtra ? `Node's own and ${nodeExtra}` : "Node's own")];
  const { trustedCertificates } = await import('../http-trust.js');
  const trusted = await attempt(() => trustedCertificates({ bundle, nodeExtra }));
  return [
    ...checks,
    'value' in trusted ? ok('certificates', `Node's own and ${bundle}`) : trusted.check('certificates'),
  ];
}

function ok(name: string, found: string): Check {
  return { name, level: 'ok', found };
}

function warning(name: string, found: string, advice: string): Check {
  return { name, level: 'warning', found, advice };
}

function problem(name: string, found: string, advice: string): Check {
  return { name, level: 'problem', found, advice };
}
