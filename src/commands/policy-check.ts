/** `chatcli policy check [flags] -- CMD…`: what a run with the same flags and settings would do with a command. Runs nothing. */
import { loadConfig } from '../config/load.js';
import { UsageError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { childEnvironment } from '../permissions/secrets.js';
import { joinWords } from '../permissions/shell-words.js';
import type { Decision } from '../permissions/types.js';
import { madeVisible } from '../permissions/visible.js';
import { createTools } from '../tools/index.js';
import { openShell } from '../tools/shell/open-shell.js';
import { createShellTool } from '../tools/shell/tool.js';
import { createWorkspace } from '../tools/workspace.js';
import { builtinWorkers } from '../workers/load.js';
import { workerNamed } from '../workers/select.js';
import type { RunFlags } from './flags.js';
import { ENTRY_WORKERS, type Intent } from './intent.js';
import { hasTerminal, type Io, pathFrom } from './io.js';
import { modeOf } from './permissions.js';
import { createReport } from './report.js';
import { openPermissions } from './run-permissions.js';
import { openRunSandbox } from './sandbox.js';
import type { SideRun } from './side-commands.js';
import { configFlags } from './wire.js';

const EXIT_CODES: Readonly<Record<Decision['kind'], number>> = {
  allow: EXIT.answered,
  ask: EXIT.taskFailed,
  deny: EXIT.denied,
};

export const runPolicyCheck: SideRun = ({ flags, operands }, io) => checkPolicy(flags as RunFlags, operands, io);

/** Prints the decision as JSON, and gives 0 for allow, 1 for ask, 6 for deny. */
async function checkPolicy(flags: RunFlags, words: readonly string[], io: Io): Promise<number> {
  try {
    const checked = await check(flags, words, io);
    io.stdout.write(`${JSON.stringify(checked)}\n`);
    return EXIT_CODES[checked.decision];
  } catch (thrown) {
    return createReport({ io, flags, sessionId: '', startedAt: io.now() }).failure(thrown);
  }
}

async function check(flags: RunFlags, words: readonly string[], io: Io) {
  // One word is the text of a command, as a model gives it; several are a command that a shell took apart.
  const command = words.length === 1 ? (words[0] ?? '') : joinWords(words);
  if (command.trim() === '') {
    throw new UsageError('There is no command to check.', {
      hint: "Give it behind --: chatcli policy check -- 'npm test'.",
    });
  }
  const intent: Intent = { kind: 'coder', words: [], flags };
  const cwd = pathFrom(io.cwd, flags.cwd);
  const loaded = await loadConfig({
    env: io.env,
    cwd,
    flags: configFlags(flags),
    isForListing: true,
    trustsWorkspace: flags.trustWorkspace === true,
  });
  const { roots } = await createWorkspace({
    root: cwd,
    addDirs: (flags.addDir ?? []).map((folder) => pathFrom(io.cwd, folder)),
  });
  const canAsk = hasTerminal(io);
  const mode = modeOf(intent, loaded.config, canAsk);
  const env = childEnvironment(io.env, { include: loaded.shellEnv });
  const { sandbox } = await openRunSandbox({
    config: loaded.config,
    mode,
    skipsPermissions: flags.dangerouslySkipPermissions === true,
    roots,
    childEnvironment: env,
    spools: () => [],
  });
  const sandboxed = sandbox !== undefined;
  const permissions = await openPermissions({
    io,
    flags,
    loaded,
    roots,
    mode,
    sandboxed,
    canAsk,
    warn: () => undefined,
  });
  const path = env.PATH ?? '';
  const shell = createShellTool({ shell: await openShell({ setting: loaded.config.shell, path, roots }) });
  const worker = workerNamed(flags.worker ?? ENTRY_WORKERS.coder, builtinWorkers([...createTools().keys()]));
  const decision = permissions.decide(
    { tool: shell.name, permission: shell.permission, subjects: shell.subjects({ command }) },
    worker,
  );
  return {
    type: 'policy',
    command,
    shown: madeVisible(command),
    mode,
    sandboxed,
    can_ask: canAsk,
    ...fieldsOf(decision),
  };
}

/** The same fields for each decision. */
function fieldsOf(decision: Decision) {
  const { kind } = decision;
  const matched = kind === 'ask' ? decision.matched : { rule: decision.rule, source: decision.source };
  return {
    decision: kind,
    rule: matched?.rule ?? null,
    source: matched?.source ?? null,
    reason: kind === 'allow' ? (decision.onlyReads ? 'It only reads files of the workspace.' : null) : decision.reason,
    only_reads: kind === 'allow' && decision.onlyReads === true,
    session_rule: (kind === 'ask' && decision.rule) || null,
    stored_rule: (kind === 'ask' && decision.storedRule) || null,
  };
}
