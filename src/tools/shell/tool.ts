/** The `shell` tool: one bash command, its output and its exit code. Whether it may run is decided before. */
import { stat } from 'node:fs/promises';
import * as z from 'zod';
import { type ProcessGroups, ProcessStartError, runProcess } from '../../process.js';
import { defineTool, type Tool, type ToolContext, ToolFailure } from '../types.js';
import { createCapture } from './capture.js';
import { createShellFinder, environmentOf } from './environment.js';
import { reportOf } from './report.js';
import doc from './tool.md';

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;

/** What other programs call it. To leave it out in silence would let a server run into the time limit. */
const BACKGROUND_NAMES = ['background', 'run_in_background', 'is_background'];
const NO_BACKGROUND =
  'there are no background commands yet. Start the server and use it within one command, e.g. "npm start & sleep 2; curl localhost:3000"';

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
};

export function createShellTool({ groups }: ShellOptions = {}): Tool {
  const bashIn = createShellFinder();
  return defineTool({
    name: 'shell',
    doc: doc.trim(),
    permission: 'execute',
    concurrency: 'serial',
    ownTimeout: true,
    schema,
    subjects: ({ command, cwd = '.' }) => [{ kind: 'command', command, cwd }],
    run: async ({ command, cwd, timeout_ms = DEFAULT_TIMEOUT_MS }, context) => {
      const folder = await locateFolder(cwd, context);
      const env = await environmentOf(command, context);
      const timeoutMs = Math.min(timeout_ms, MAX_TIMEOUT_MS);
      const capture = createCapture(context);
      const result = await runProcess({
        ...commandLine(command, await bashIn(env.PATH ?? '')),
        cwd: folder.path,
        env,
        signal: context.signal,
        timeoutMs,
        maxBytes: 0,
        onOutput: capture.take,
        ...(groups !== undefined && { groups }),
      }).catch(explainStart);
      return reportOf({ command, cwd: folder.shown || '.', timeoutMs, result, captured: await capture.finish() });
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

/**
 * Bash without its start-up files, given the very command that was judged; `sh` where there is no bash. A few words of ours
 * stand before it: a second shell that kept them apart would take 2 ms of CPU time at each call.
 */
function commandLine(command: string, bash: string | undefined): { file: string; args: string[] } {
  const [file, ...flags] = bash === undefined ? ['/bin/sh'] : [bash, '--noprofile', '--norc'];
  // Two pipes lose the order between stdout and stderr; one for both keeps it, and only the shell can make it one.
  const joined = process.platform === 'win32' ? command : `exec 2>&1;${command}`;
  return { file, args: [...flags, '-c', joined] };
}

function explainStart(thrown: unknown): never {
  if (!(thrown instanceof ProcessStartError)) throw thrown;
  const advice = thrown.code === 'E2BIG' ? ' The command is too long: write it to a file and run that.' : '';
  throw new ToolFailure('cannot-start', `${thrown.message}.${advice}`, { cause: thrown });
}
