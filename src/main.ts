/** From argv to an exit code. The only place that ends the process; signals and closed pipes are handled here. */
import { readFileSync } from 'node:fs';
import type { Intent } from './commands/intent.js';
import type { Io } from './commands/io.js';
import { CommandLineError, createProgram, runProgram } from './commands/program.js';
import type { SideCommand, SideInput } from './commands/side-commands.js';
import { keepCertificateChecks, processEnvironment } from './config/environment.js';
import { InterruptedError } from './errors.js';
import { EXIT, endingOfSignal } from './exit-codes.js';
import { createProcessGroups } from './process.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const groups = createProcessGroups();
const controller = new AbortController();
const env = processEnvironment();
keepCertificateChecks();
let exitCode: number = EXIT.answered;
let outputFault: Error | undefined;

for (const name of SIGNALS) {
  process.on(name, () => {
    // The first one stops the run in good order; one more does not wait for that.
    if (controller.signal.aborted) end(endingOfSignal(name).exitCode);
    controller.abort(new InterruptedError(name));
  });
}
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that is gone (`| head -1`) ends the run, quietly; whatever else loses the answer must not pass for success.
  if (error.code !== 'EPIPE') outputFault ??= error;
  controller.abort(new InterruptedError());
});
process.stderr.on('error', () => undefined);
// The shell's Ctrl-\ ends at once, and still leaves no child behind.
process.on('SIGQUIT', () => end(EXIT.quit));
process.on('uncaughtException', (error) => {
  process.stderr.write(`error: chatcli failed unexpectedly: ${error.stack ?? error.message}\n`);
  end(EXIT.taskFailed);
});

try {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const writeOut = (text: string) => void process.stdout.write(text);
  const program = createProgram({ version, run: runIntent, side: runSide, writeOut });
  await runProgram(program, process.argv.slice(2));
} catch (thrown) {
  const { createReport } = await import('./commands/report.js');
  const outputFormat = thrown instanceof CommandLineError ? thrown.outputFormat : 'text';
  exitCode = createReport({ io: io(), flags: { outputFormat }, sessionId: '', startedAt: Date.now() }).failure(thrown);
}
await Promise.all([drained(process.stdout), drained(process.stderr)]);
if (outputFault !== undefined) {
  process.stderr.write(`error: standard output could not be written: ${outputFault.message}\n`);
  if (exitCode === EXIT.answered) exitCode = EXIT.taskFailed;
}
end(exitCode);

async function runIntent(intent: Intent): Promise<void> {
  const { runOneShot } = await import('./commands/one-shot.js');
  exitCode = await runOneShot(intent, io());
}

async function runSide(command: SideCommand, input: SideInput): Promise<void> {
  const run = await command.load();
  exitCode = await run(input, io());
}

function io(): Io {
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env,
    cwd: currentFolder(),
    now: Date.now,
    signal: controller.signal,
    groups,
  };
}

/** Undefined when it was deleted under us. */
function currentFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    // A named folder (--cwd) may do; without one the run is refused.
    return undefined;
  }
}

/** Resolves when all that was written has left, or can't leave any more. */
function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) return resolve();
    stream.once('error', () => resolve());
    stream.write('', () => resolve());
  });
}

/** Ends the process and every child of ours with it. */
function end(code: number): never {
  groups.killAll();
  process.exit(code);
}
