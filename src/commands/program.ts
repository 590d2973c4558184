/** The command line, as commander reads it. What the commands do is imported when one runs. */
import { Command, CommanderError } from 'commander';
import { UsageError } from '../errors.js';
import { addRunFlags, type OutputFormat, type RunFlags, runFlagsOf } from './flags.js';
import type { Intent } from './intent.js';
import { addSideCommands, type SideCommand, type SideInput } from './side-commands.js';

export type ProgramOptions = {
  readonly version: string;
  readonly run: (intent: Intent) => Promise<void>;
  /** Runs a command that is no task. */
  readonly side: (command: SideCommand, input: SideInput) => Promise<void>;
  readonly writeOut: (text: string) => void;
};

export function createProgram({ version, run, side, writeOut }: ProgramOptions): Command {
  const program = new Command('chatcli');
  program
    .description('A coding assistant for the terminal: specialised workers, each in its own reason-act-observe loop.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(true)
    .enablePositionalOptions()
    .exitOverride()
    // What is wrong is reported by who runs the program, in the format asked for.
    .configureOutput({ writeOut, writeErr: () => undefined })
    .option('-p, --print <question>', 'answer one question and end; reads files, changes nothing')
    .addHelpText('after', EXAMPLES);
  addRunFlags(program);
  program.allowExcessArguments().action(async () => {
    refuseUnknownCommand(program.args);
    const { print } = program.opts<{ print?: string }>();
    await run({ kind: 'chat', words: print === undefined ? [] : [print], flags: runFlagsOf(program) });
  });

  for (const [kind, description] of [
    ['agent', 'run a task: the lead answers or hands it to a specialised worker'],
    ['coder', 'run a task with the coder'],
  ] as const) {
    const command = program.command(kind).description(description);
    addRunFlags(command);
    command.argument('[task...]', 'the task; "-" waits for standard input and adds it').action((words: string[]) => {
      refuseQuestion(program.opts<{ print?: string }>().print);
      return run({ kind, words, flags: runFlagsOf(command) });
    });
  }
  addSideCommands(program, side);
  return program;
}

function refuseQuestion(question: string | undefined): void {
  if (question === undefined) return;
  throw new UsageError('A question (-p) and a command with a task exclude each other.', {
    hint: 'Put the question into the task.',
  });
}

/** A task without a command would be easy to mistake for one that is not there. */
function refuseUnknownCommand([word, ...rest]: readonly string[]): void {
  if (word === undefined) return;
  const task = [word, ...rest].join(' ');
  throw new UsageError(`There is no command "${word}".`, {
    hint: `For a task: chatcli agent ${JSON.stringify(task)}. For help: chatcli --help.`,
  });
}

/**
 * Runs the command line. Help and version end quietly.
 * @throws {CommandLineError} for what commander refuses, with the output format as far as it was read.
 */
export async function runProgram(program: Command, argv: readonly string[]): Promise<void> {
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.exitCode === 0) return;
    const formats = [program, ...program.commands].map((command) => command.opts<Partial<RunFlags>>().outputFormat);
    const outputFormat = formats.find((format) => format !== undefined && format !== 'text') ?? 'text';
    // A command that only has commands of its own.
    if (thrown.code === 'commander.help')
      throw new CommandLineError(`A word is missing after "${argv.join(' ')}".`, outputFormat);
    throw new CommandLineError(thrown.message.replace(/^error: /, ''), outputFormat);
  }
}

/** A command line that cannot be read. */
export class CommandLineError extends UsageError {
  readonly outputFormat: OutputFormat;

  constructor(message: string, outputFormat: OutputFormat) {
    super(message, { hint: 'See chatcli --help.' });
    this.outputFormat = outputFormat;
  }
}

const EXAMPLES = `
Examples:
  chatcli agent "why does the login test fail?"
  git diff | chatcli agent "review this" --output-format json | jq -r .result
  chatcli coder "fix the failing test" --approval-mode auto-edit --allowed-tools 'shell(npm test)'

Without a terminal a run may only read, until --approval-mode or --allowed-tools say more.
Exit codes: 0 answered, 1 failed, 2 usage, 3 configuration, 4 provider, 5 a limit, 6 denied, 130 interrupted.
In mode full-auto, or with --sandbox required, commands run in a sandbox; elsewhere a command that you allow can do
whatever you can. chatcli doctor tells whether there is a sandbox here. It does not guard against faults of the kernel.
`;
