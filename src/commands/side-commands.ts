/** The commands that run no task: they show or change something of ours. A new one is an entry here and a file beside this one. */
import type { Command } from 'commander';
import { addContextFlags, addModelsFlags, addPermissionFlags, addRunFlags, runFlagsOf } from './flags.js';
import type { Io } from './io.js';

/** What a side command was given. */
export type SideInput = {
  /** The words behind the command's name, and behind that of its action. */
  readonly operands: readonly string[];
  /** As commander names them; flags before the command's name count too. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** For a command with actions: which one; empty for none. */
  readonly action: string;
};

/** Does the work, and gives the exit code. What it throws is reported like any error. */
export type SideRun = (input: SideInput, io: Io) => Promise<number>;

type Act = (command: Command, operands: readonly string[], action?: string) => Promise<void>;

export type SideCommand = {
  readonly name: string;
  readonly description: string;
  /** Adds arguments, flags and actions; `act` is what commander is to call. */
  readonly define: (command: Command, act: Act) => void;
  /** Imports what does the work, only when it is wanted. */
  readonly load: () => Promise<SideRun>;
};

const CWD = ['-C, --cwd <folder>', 'the workspace, instead of the current folder'] as const;

const TRUST_ACTIONS = [
  ['add', 'trust this project: its settings, agents and skills as they are now'],
  ['env', 'use ./.env in every run, as long as it stays as it is'],
  ['remove', 'forget all of that for this project'],
  ['list', 'what is trusted anywhere'],
] as const;

export const SIDE_COMMANDS: readonly SideCommand[] = [
  {
    name: 'skills',
    description: 'list the skills, and what is wrong with them',
    define: (command, act) => {
      command
        .allowExcessArguments(false)
        .option(...CWD)
        .action(() => act(command, []));
    },
    load: async () => (await import('./skills.js')).runSkills,
  },
  {
    name: 'trust',
    description: 'what a project brings that counts only once you trust it, and the words that trust it',
    define: (command, act) => {
      const inFolder = (each: Command) => each.allowExcessArguments(false).option(...CWD);
      inFolder(command).action(() => act(command, []));
      for (const [name, description] of TRUST_ACTIONS) {
        const action = inFolder(command.command(name).description(description));
        action.action(() => act(action, [], name));
      }
    },
    load: async () => (await import('./trust.js')).runTrust,
  },
  {
    name: 'context',
    description: "show what fills the model's window before a task",
    define: (command, act) => addContextFlags(command).action(() => act(command, [])),
    load: async () => (await import('./context.js')).runContext,
  },
  {
    name: 'models',
    description: 'list the models of a provider: windows and prices',
    define: (command, act) => addModelsFlags(command).action(() => act(command, [])),
    load: async () => (await import('./models.js')).runModels,
  },
  {
    name: 'permissions',
    description: 'list the rules in force and where they come from; remove takes back what an answer stored',
    define: (command, act) => {
      addPermissionFlags(command.allowExcessArguments(false)).action(() => act(command, []));
      const remove = command.command('remove').description('take back a stored rule');
      addPermissionFlags(remove.argument('<rule>', 'the rule, or its number in the list')).action((rule: string) =>
        act(remove, [rule], 'remove'),
      );
    },
    load: async () => (await import('./permissions-list.js')).runPermissions,
  },
  {
    name: 'policy',
    description: 'check: what a run would do with a command, as JSON; exit 0 allow, 1 ask, 6 deny',
    define: (command, act) => {
      const check = command.command('check').description('print what a run with these flags would do with a command');
      addRunFlags(check)
        .argument('<command...>', 'behind --: one word is the text of a command, several are its words')
        .action((words: string[]) => act(check, words, 'check'));
    },
    load: async () => (await import('./policy-check.js')).runPolicyCheck,
  },
  {
    name: 'doctor',
    description: 'tell what of this machine is found, works or is missing',
    define: (command, act) =>
      addModelsFlags(command)
        .allowExcessArguments(false)
        .action(() => act(command, [])),
    load: async () => (await import('./doctor.js')).runDoctor,
  },
];

/** Adds all of them to the program. */
export function addSideCommands(
  program: Command,
  run: (command: SideCommand, input: SideInput) => Promise<void>,
): void {
  for (const side of SIDE_COMMANDS) {
    const command = program.command(side.name).description(side.description);
    side.define(command, (given, operands, action = '') => run(side, { operands, flags: runFlagsOf(given), action }));
  }
}
