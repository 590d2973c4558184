/** The `shell` tool: one command, its output and its exit code. Whether it may run is decided before. */
import { stat } from 'node:fs/promises';
import * as z from 'zod';
import { isReadOnlyCommand } from '../../permissions/shell-table.js';
import type { ProcessGroups } from '../../process.js';
import { fillPrompt } from '../../prompt.js';
import { defineTool, type Tool, type ToolContext, ToolFailure } from '../types.js';
import { type BackgroundCommands, createBackgroundCommands } from './background.js';
import { endedWithUs, reportStart } from './background-report.js';
import { dialectHint } from './dialect-hint.js';
import { createShellFinder, environmentOf } from './environment.js';
import { reportOf } from './report.js';
import { aroundCommand, runCommand } from './run-command.js';
import type { Sandbox } from './sandbox-types.js';
import { sandboxAdvice, sandboxHint } from './sandbox-words.js';
import doc from './tool.md';
import { commandLineFor, kindOf, shellNamed, withoutOurWords } from './which-shell.js';

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;

/** What other programs call it. To leave it out in silence would let a server run into the time limit. */
const BACKGROUND_NAMES = ['background', 'run_in_background', 'is_background'];

const ONE_LINE = 'cmd.exe runs the first line of a command and drops the others in silence: join them with &&.';

// Loose, so that other names for `background` are seen; all else of it is overlooked.
const schema = z.looseObject({
  command: z.string().min(1),
  cwd: z.string().optional(),
  timeout_ms: z.number().min(1).optional(),
  background: z.boolean().optional(),
});

export type ShellOptions = {
  /** Lists the commands that run, for a program that must end at once; absent: they end when our process does. */
  readonly groups?: ProcessGroups | undefined;
  /** The absolute path of the shell, whose file name tells which it is; absent: bash, or /bin/sh where there is none. */
  readonly shell?: string | undefined;
  /** What commands run in; absent: nothing keeps them in. */
  readonly sandbox?: Sandbox | undefined;
};

export type ShellParts = ShellOptions & {
  /** Shared with the tools that look at them and stop them. */
  readonly background?: BackgroundCommands;
};

/** @throws {ConfigError} for a shell that we don't know how to call. */
export function createShellTool(parts: ShellParts = {}): Tool {
  const { groups, shell, sandbox, background = createBackgroundCommands(groups) } = parts;
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
    title: (input) => {
      const { command, cwd = '.' } = input;
      return `${command}${cwd === '.' ? '' : ` (in ${cwd})`}${isBackground(input) ? ' (in the background)' : ''}`;
    },
    preview: async (input) => (isBackground(input) ? { kind: 'lines', lines: [GOES_ON] } : undefined),
    close: async () => (await background.stopAll()).map(({ id, command }) => endedWithUs(id, command)),
    run: async (input, context) => {
      const { command, cwd, timeout_ms } = input;
      const folder = await locateFolder(cwd, context);
      if (isCmd && /[\r\n]/.test(command)) throw new ToolFailure('one-line-only', ONE_LINE);
      const env = await environmentOf(command, isRead, context);
      const file = shell ?? (await bashIn(env.PATH ?? '')) ?? '/bin/sh';
      const kind = kindOf(shellNamed(file));
      const start = { file, ...commandLineFor(kind, command), cwd: folder.path, env };
      const shown = folder.shown || '.';
      // Whoever may only read can start nothing that goes on, not even a `cat` that never ends.
      const onlyReads = isRead && isReadOnlyCommand(command);
      if (isBackground(input) && !onlyReads) {
        const begin = () => background.start({ command, cwd: shown, start, sandbox }, context);
        const around = await aroundCommand({ command, isRead }, context, begin, ({ id }) => background.endOf(id));
        return reportStart({ ...around, look: around.result, isTimed: timeout_ms !== undefined });
      }
      const timeoutMs = Math.min(timeout_ms ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
      const end = await runCommand({ command, start, timeoutMs, isRead, sandbox, groups }, context);
      const captured = { ...end.captured, head: withoutOurWords(kind, end.captured.head) };
      const ended = { command, output: captured.head + captured.tail, exitCode: end.result.exitCode };
      const hint = (shell && dialectHint(name, ended)) ?? (sandbox && sandboxHint(sandbox, ended));
      const notes = [...end.notes, ...(isBackground(input) ? [NOT_IN_BACKGROUND] : [])];
      return reportOf({ ...end, captured, command, cwd: shown, timeoutMs, hint, notes });
    },
  });
}

const NOT_IN_BACKGROUND = 'it only reads, so it was waited for';
const GOES_ON = 'goes on in the background until it ends, is stopped, or the run is over';

function isBackground(input: Readonly<Record<string, unknown>>): boolean {
  return BACKGROUND_NAMES.some((name) => input[name] === true || input[name] === 'true');
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
