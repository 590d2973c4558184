/** Puts one run together: configuration → provider, tools, workers, policy, readers → the tree that workers run in. */
import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.js';
import { homeOf } from '../config/folders.js';
import { limitsFor, modelFor } from '../config/limits.js';
import { type ConfigFlags, loadConfig } from '../config/load.js';
import type { ConfigNotice } from '../config/problems.js';
import { type Instructions, loadInstructions } from '../context/instructions.js';
import { systemPrompt } from '../context/system.js';
import { ConfigError, messageOf } from '../errors.js';
import { createEmitter } from '../events/emitter.js';
import type { EventSink } from '../events/types.js';
import { createAsk } from '../output/ask.js';
import { createAskUser } from '../output/ask-user.js';
import { createTerminalLine } from '../output/terminal-line.js';
import { redactPatterns } from '../permissions/redact.js';
import { childEnvironment } from '../permissions/secrets.js';
import { createBudget } from '../runtime/budget.js';
import type { RunTree } from '../runtime/context.js';
import { createLedger } from '../runtime/ledger.js';
import { runLoop } from '../runtime/loop.js';
import { createPlanBoard } from '../runtime/plan-board.js';
import type { UndoRecorder } from '../session/snapshot.js';
import { en } from '../texts/en.js';
import { closeTools } from '../tools/close.js';
import { createTools } from '../tools/index.js';
import { openShell } from '../tools/shell/open-shell.js';
import { createWorkspace } from '../tools/workspace.js';
import { builtinWorkers } from '../workers/load.js';
import { catalogue, describeCatalogue } from '../workers/select.js';
import type { RunFlags } from './flags.js';
import type { Intent } from './intent.js';
import { hasTerminal, type Io, pathFrom } from './io.js';
import { openNetwork } from './network.js';
import { openProvider } from './open-provider.js';
import { modeOf } from './permissions.js';
import { openProject } from './project.js';
import { createRedactor } from './redactor.js';
import type { Report } from './report.js';
import { openPermissions } from './run-permissions.js';
import { openRunSandbox } from './sandbox.js';
import { openSkills } from './skills-port.js';
import { spoolIn } from './spool.js';
import { openUndo } from './undo-port.js';

export type WiredRun = {
  readonly tree: RunTree;
  /** Our own folder for what lasts over runs. */
  readonly stateFolder: string;
  /** The time limit of the whole run, if it has one. */
  readonly timeoutMs: number | undefined;
  /** Whether one worker has to be picked before the run, since there is no delegation. */
  readonly picksWorker: boolean;
  /** What the system prompts are made of, beside the workers' pages. */
  readonly instructions: Instructions;
  readonly skillsIndex: readonly string[];
  /** What changes from here on is undone together. */
  readonly beginTurn: (task: string, sessionId: string) => void;
  /** Ends what tools left running, and tells of it: the last events of a run. */
  readonly endTools: () => Promise<void>;
  readonly close: () => void;
};

export type WireOptions = { readonly intent: Intent; readonly io: Io; readonly report: Report };

/**
 * Wires one run.
 * @throws {ConfigError} {UsageError} for anything in flags, environment or files that can't be used.
 */
export async function wire({ intent, io, report }: WireOptions): Promise<WiredRun> {
  const { flags } = intent;
  const cwd = pathFrom(io.cwd, flags.cwd);
  const loaded = await loadConfig({
    env: io.env,
    cwd,
    flags: configFlags(flags),
    trustsWorkspace: flags.trustWorkspace === true,
  });
  const { config, secretValues, notices, shellEnv, trust } = loaded;

  let undo: UndoRecorder | undefined;
  const workspace = await createWorkspace({
    root: cwd,
    addDirs: (flags.addDir ?? []).map((folder) => pathFrom(io.cwd, folder)),
    keepBefore: async (path, next) => undo?.keepBefore(path, next),
  });
  const childEnv = childEnvironment(io.env, { include: shellEnv });
  const shell = await openShell({ setting: config.shell, path: childEnv.PATH ?? '', roots: workspace.roots });
  const canAsk = hasTerminal(io);
  const mode = modeOf(intent, config, canAsk);
  const spools: string[] = [];
  const { sandbox, notices: ofSandbox } = await openRunSandbox({
    config,
    mode,
    skipsPermissions: flags.dangerouslySkipPermissions === true,
    roots: workspace.roots,
    childEnvironment: childEnv,
    spools: () => spools,
  });
  const permissions = await openPermissions({
    io,
    flags,
    loaded,
    roots: workspace.roots,
    mode,
    sandboxed: sandbox !== undefined,
    canAsk,
    warn: (text) => tell({ type: 'notice', level: 'warning', code: 'rule-not-stored', text }),
  });
  const redactor = createRedactor(secretValues);
  report.configure({ color: config.color, mask: redactor.mask });
  const { provider, model, costOf, contextWindow, close } = await openProvider(config, io).catch((thrown) => {
    throw withNotices(thrown, notices);
  });
  const emitter = createEmitter({
    now: io.now,
    sinks: [...report.sinks, ...(await logSinks(config, flags.debug === true))],
    redactor,
  });
  const tell = emitter.forRun({ runId: 'start', worker: 'chatcli' });
  const project = await openProject(trust, { home: homeOf(io.env), config: config.folders.config });
  const skills = await openSkills(project);
  const fetch = { allowHosts: config.fetchHosts ?? [], network: () => openNetwork(config) };
  const tools = new Map([...createTools({ groups: io.groups, shell, sandbox, fetch }), ...skills.tools]);
  const workers = skills.offeredTo(builtinWorkers([...tools.keys()]));
  const instructions = await loadInstructions(workspace.root, { root: trust.root, userFolder: config.folders.config });
  const values = { workers: describeCatalogue(catalogue(workers)) };
  const environment = {
    root: workspace.root,
    platform: process.platform,
    date: new Date(io.now()).toISOString().slice(0, 10),
  };
  const warn = (text: string) => tell({ type: 'notice', level: 'warning', code: 'undo', text });
  if (config.undo)
    undo = openUndo({
      folders: config.folders,
      roots: workspace.roots,
      now: io.now,
      mask: redactor.mask,
      warn,
      signal: io.signal,
    });
  const line = createTerminalLine(io.stdin, io.stderr);
  const ask = createAsk({ line, texts: en, colors: report.colors });
  const askUser = createAskUser({ line, texts: en, timeoutMs: config.approvalTimeoutMs });

  const tree: RunTree = {
    provider,
    tools,
    workers,
    toolContext: {
      workspace,
      now: io.now,
      childEnvironment: childEnv,
      spoolDirectory: spoolIn({ stateFolder: config.folders.state, root: workspace.root }, async (folder) => {
        spools.push(folder);
        await workspace.allowReading(folder);
      }),
      mask: redactor.mask,
      ...(undo && { changes: undo }),
      fileAccess: permissions.fileAccess,
    },
    emitter,
    budget: createBudget(config.run, costOf),
    ledger: createLedger(),
    now: io.now,
    newId: () => randomUUID().slice(0, 8),
    rootOptions: {},
    runTask: runLoop,
    mayDelegate: config.workers.parallel,
    modelOf: (worker) => modelFor(config.workers, worker.name, { general: model, page: worker.model }),
    windowOf: contextWindow,
    limitsOf: (worker) => limitsFor(config.workers, worker.name, worker),
    turnLimitHint: 'More: --max-turns, or CHATCLI_AGENT_WORKER_MAX_TURNS.',
    systemPromptOf: (worker) =>
      redactor.mask(
        [systemPrompt({ prompt: worker.prompt, values, environment, instructions }), ...skills.index].join('\n\n'),
      ),
    decide: permissions.decide,
    ...(canAsk && { askUser: (question, worker, signal) => askUser(question, worker.name, signal) }),
    plans: createPlanBoard(),
    ask: (question, worker, signal, again) =>
      permissions.ask({ question, signal, again, put: (until) => ask(question, worker.name, until) }),
  };
  for (const { code, text } of [...notices, ...project.notices]) tell({ type: 'notice', level: 'warning', code, text });
  for (const text of ofSandbox) tell({ type: 'notice', level: 'warning', code: 'sandbox', text });
  if (instructions.cut)
    tell({
      type: 'notice',
      level: 'warning',
      code: 'instructions-cut',
      text: 'The instruction files are longer than 32 KiB; the rest is left out.',
    });

  return {
    tree,
    stateFolder: config.folders.state,
    timeoutMs: config.run.timeoutMs,
    picksWorker: intent.kind === 'agent' && !config.workers.parallel,
    instructions,
    skillsIndex: skills.index,
    beginTurn: (task, sessionId) => undo?.beginTurn({ task, sessionId }),
    endTools: async () => {
      for (const text of await closeTools(tools.values()))
        tell({ type: 'notice', level: 'info', code: 'tool-ended', text });
      await undo?.settle();
    },
    close: () => {
      undo?.close();
      close();
    },
  };
}

/** What is missing may stand in a file that is not read, and a run that does not start tells no notices. */
function withNotices(thrown: unknown, notices: readonly ConfigNotice[]): unknown {
  const told = notices.filter(({ code }) => code === 'dotenv-not-read').map(({ text }) => text);
  if (!(thrown instanceof ConfigError) || told.length === 0) return thrown;
  return new ConfigError(thrown.message, { cause: thrown, hint: [thrown.hint ?? '', ...told].join('\n').trim() });
}

/** Flags that set a variable. */
export function configFlags(flags: RunFlags): ConfigFlags {
  const { provider, model, maxTurns, timeout, maxRequests, maxTokensTotal, maxBudgetUsd } = flags;
  const { approvalMode, sandbox, sandboxNetwork, envFile } = flags;
  const limits = { maxTurns, timeout, maxRequests, maxTokensTotal, maxBudgetUsd };
  return {
    provider,
    model,
    ...limits,
    approvalMode,
    sandbox,
    ...(sandboxNetwork === true && { sandboxNetwork: 'true' }),
    envFile,
  };
}

/** The log is loaded only when it is on. */
async function logSinks(config: Config, debug: boolean): Promise<readonly EventSink[]> {
  const { level, file } = config.log;
  if (level === 'silent' && !debug) return [];
  const { createLogSink } = await import('../output/log.js');
  try {
    return [
      createLogSink({ level: debug ? 'debug' : level, destination: debug ? 2 : (file ?? 2), redact: redactPatterns }),
    ];
  } catch (cause) {
    throw new ConfigError(`The log file ${file} can't be written: ${messageOf(cause)}`, {
      cause,
      hint: 'Set CHATCLI_LOG_FILE to a file in a folder that you may write to.',
    });
  }
}
