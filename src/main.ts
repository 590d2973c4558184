/** From argv to an exit code. The only place that ends the process; signals and closed pipes are handled here. */
import { readFileSync } from 'node:fs';
import type { Intent } from './commands/intent.js';
import { createProgram, runProgram } from './commands/program.js';
import { processEnvironment } from './config/environment.js';
import { ChatcliError, InterruptedError, messageOf } from './errors.js';
import { EXIT, endingOfError, endingOfSignal } from './exit-codes.js';
import { createProcessGroups } from './process.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const groups = createProcessGroups();
const controller = new AbortController();
let exitCode: number = EXIT.answered;

for (const name of SIGNALS) {
  process.on(name, () => {
    // The first one stops the run in good order; one more does not wait for that.
    if (controller.signal.aborted) end(endingOfSignal(name).exitCode);
    controller.abort(new InterruptedError(name));
  });
}
// A reader that is gone (`| head -1`) ends the run, quietly; there is nobody left to tell.
process.stdout.on('error', () => controller.abort(new InterruptedError()));
process.stderr.on('error', () => undefined);
process.on('uncaughtException', (error) => {
  process.stderr.write(`error: chatcli failed unexpectedly: ${error.stack ?? error.message}\n`);
  end(EXIT.taskFailed);
});

try {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const program = createProgram({
    version,
    run: runIntent,
    writeOut: (text) => process.stdout.write(text),
    writeErr: (text) => process.stderr.write(text),
  });
  await runProgram(program, process.argv.slice(2));
} catch (thrown) {
  if (messageOf(thrown) !== '') process.stderr.write(`error: ${messageOf(thrown)}\n`);
  if (thrown instanceof ChatcliError && thrown.hint !== undefined) process.stderr.write(`${thrown.hint}\n`);
  exitCode = endingOfError(thrown).exitCode;
}
await Promise.all([drained(process.stdout), drained(process.stderr)]);
end(exitCode);

async function runIntent(intent: Intent): Promise<void> {
  const { runOneShot } = await import('./commands/one-shot.js');
  exitCode = await runOneShot(intent, {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: processEnvironment(),
    cwd: process.cwd(),
    now: Date.now,
    signal: controller.signal,
    groups,
  });
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
