/** The `shell` tool: one command, its output and its exit code. Whether it may run is decided before. */
import { stat } from 'node:fs/promises';
import * as z from 'zod';
import type { ProcessGroups } from '../../process.js';
import { fillPrompt } from '../../prompt.js';
import { defineTool, type Tool, type ToolContext, ToolFailure } from '../types.js';
import { dialectHint } from './dialect-hint.js';
import { createShellFinder, environmentOf } from './environment.js';
import { reportOf } from './report.js';
import { runCommand } from './run-command.js';
import type { Sandbox } from './sandbox-types.js';
import { sandboxAdvice, sandboxHint } from './sandbox-words.js';
import doc from './tool.md';
import { argumentsFor, kindOf, shellNamed } from './which-shell.js';

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;

/** What other programs call it. To leave it out in silence would let a server run into the time limit. */
const BACKGROUND_NAMES = ['background', 'run_in_background', 'is_background'];
const NO_BACKGROUND =
  'there are no background commands yet. Start the server and use it within one command, e.g. "npm start & sleep 2; curl localhost:3000"';

const ONE_LINE = 'cmd.exe runs the first line of a command and drops the others in silence: join them with &&.';

// Loose, so that the check sees what the schema does not name; all else of it is overlooked.
const schema = z
  .looseObject({
    command: z.string().min(1),
    cwd: z.string().optional(),
    timeout_ms: z.number().min(1).optional(),
  })
  .check(({ value, issues }) => {
    for (const name of BACKGROUND_NAMES) {
      const wanted = value[name] === true || value[name] === 'true';
      if (wanted) issues.push({ code: 'custom', message: NO_BACKGROUND, path: [name], input: value });
    }
  });

export type ShellOptions = {
  /** Lists the commands that run, for a program that must end at once. */
  readonly groups?: ProcessGroups | undefined;
  /** The absolute path of the shell, whose file name tells which it is; absent: bash, or /bin/sh where there is none. */
  readonly shell?: string | undefined;
  /** What commands run in; absent: nothing keeps them in. */
  readonly sandbox?: Sandbox | undefined;
};

/** @throws {ConfigError} for a shell that we don't know how to call. */
export function createShellTool({ groups, shell, sandbox }: ShellOptions = {}): Tool {
  const bashIn = createShellFinder();
  const name = shellNamed(shell ?? 'bash');
  const { title, isRead, isCmd, advice } = kindOf(name);
  return defineTool({
    name: 'shell',
    doc: fillPrompt(doc.trim(), { shell: title, advice }).trim() + (sandbox ? `\n${sandboxAdvice(sandbox)}` : ''),
    permission: 'execute',
    concurrency: 'serial',
    ownTimeout: true,
    schema,
    subjects: ({ command, cwd = '.' }) => [{ kind: 'command', command, cwd, ...(!isRead && { shell: title }) }],
    run: async ({ command, cwd, timeout_ms = DEFAULT_TIMEOUT_MS }, context) => {
      const folder = await locateFolder(cwd, context);
      if (isCmd && /[\r\n]/.test(command)) throw new ToolFailure('one-line-only', ONE_LINE);
      const env = await environmentOf(command, isRead, context);
      const timeoutMs = Math.min(timeout_ms, MAX_TIMEOUT_MS);
      const file = shell ?? (await bashIn(env.PATH ?? '')) ?? '/bin/sh';
      const start = { ...commandLine(command, file), cwd: folder.path, env };
      const end = await runCommand({ command, start, timeoutMs, isRead, sandbox, groups }, context);
      const output = end.captured.head + end.captured.tail;
      const ended = { command, output, exitCode: end.result.exitCode };
      const hint = (shell && dialectHint(name, ended)) ?? (sandbox && sandboxHint(sandbox, ended));
      return reportOf({ ...end, command, cwd: folder.shown || '.', timeoutMs, hint });
    },
  });
}

/** The root needs no look at the disk: the workspace has made sure of it. */
async function locateFolder(
  cwd: string | undefined,
  { workspace }: ToolContext,
): Promise<{ path: string; shown: string }> {
  if (cwd === undefined || cwd === '.') return { path: workspace.root, shown: '.' };
  const location = await workspace.locate(cwd);
  const isFolder = await stat(location.path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
  if (isFolder) return location;
  throw new ToolFailure('folder-missing', `There is no folder ${cwd}. Leave "cwd" out to start in the workspace root.`);
}

/** The very command that was judged, without start-up files where the shell has some; a few words of ours before it. */
function commandLine(command: string, file: string) {
  const kind = kindOf(shellNamed(file));
  return { file, args: argumentsFor(kind, command), verbatimArguments: kind.isCmd === true };
}
