/** The flags of a run: what commander accepts, and what it gives us. List flags repeat, none is variadic or optional. */
import { type Command, InvalidArgumentError, Option } from 'commander';

export const OUTPUT_FORMATS = ['text', 'json', 'stream-json'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Flags as texts; config validates those that set a variable. */
export type RunFlags = {
  readonly outputFormat: OutputFormat;
  readonly jsonSchema?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly worker?: string;
  readonly maxTurns?: string;
  readonly timeout?: string;
  readonly maxBudgetUsd?: string;
  readonly maxTokensTotal?: string;
  readonly maxRequests?: string;
  readonly approvalMode?: string;
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  readonly dangerouslySkipPermissions?: boolean;
  readonly trustWorkspace?: boolean;
  readonly sandbox?: string;
  readonly sandboxNetwork?: boolean;
  readonly addDir?: readonly string[];
  readonly cwd?: string;
  readonly checkpoint?: string;
  readonly envFile?: string;
  readonly plain?: boolean;
  readonly verbose?: boolean;
  readonly debug?: boolean;
};

const append = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

function outputFormat(value: string): OutputFormat {
  const format = OUTPUT_FORMATS.find((candidate) => candidate === value);
  if (format !== undefined) return format;
  throw new InvalidArgumentError(`Allowed choices are ${OUTPUT_FORMATS.join(', ')}.`);
}

/** Adds the flags of a run to a command. */
export function addRunFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--output-format <format>', 'what stdout carries: text, json or stream-json')
        .argParser(outputFormat)
        .default('text'),
    )
    .option('--json-schema <schema>', 'the form of the answer: a JSON Schema, or a file with one')
    .option('-m, --model <model>', 'the model to ask')
    .option('--provider <name>', 'the endpoint: a preset name, or scripted')
    .option('--worker <name>', 'the worker that runs the task')
    .addOption(new Option('--agent <name>', 'the same as --worker').hideHelp())
    .option('--max-turns <count>', 'model calls a worker may make')
    .option('--timeout <duration>', 'time for the whole run, e.g. 90, 30s, 10m')
    .option('--max-budget-usd <usd>', 'cost of the whole run')
    .option('--max-tokens-total <count>', 'tokens of the whole run')
    .option('--max-requests <count>', 'model requests of the whole run')
    .option('--approval-mode <mode>', 'read-only, ask, auto-edit or full-auto')
    .option('--allowed-tools <rules>', "rules that allow, e.g. 'shell(npm test)'; repeatable", append)
    .option('--disallowed-tools <rules>', 'rules that deny; repeatable', append)
    .option(
      '--dangerously-skip-permissions',
      'full-auto without a sandbox: runs unasked, but for what cannot be undone',
    )
    .option('--trust-workspace', 'for this run, use the settings and skills of the project: see chatcli trust')
    .option('--sandbox <when>', 'commands run in a sandbox: auto (in full-auto), required (always) or off')
    .option('--sandbox-network', 'let commands in the sandbox reach the network')
    .option('--add-dir <folder>', 'a further folder that tools may use; repeatable', append)
    .option('-C, --cwd <folder>', 'the workspace, instead of the current folder')
    .option('--checkpoint <file>', 'store the run there after each step, and go on from what is stored')
    .option('--env-file <path>', 'read our variables from this file as well')
    .option('--plain', 'no colours')
    .option('--verbose', "show the model's reasoning and the whole output of tools")
    .option('--debug', 'write the structured log to stderr');
}

/** What says whose models are listed, and how. */
export type ModelsFlags = Pick<RunFlags, 'outputFormat' | 'provider' | 'cwd' | 'envFile'>;

/** Adds the flags of `models`. */
export function addModelsFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--output-format <format>', 'what stdout carries: text or json')
        .argParser(outputFormat)
        .default('text'),
    )
    .option('--provider <name>', 'the endpoint: a preset name')
    .option('-C, --cwd <folder>', 'the folder that relative paths count from')
    .option('--env-file <path>', 'read our variables from this file as well');
}

/** Adds the flags of `permissions`. */
export function addPermissionFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--output-format <format>', 'what stdout carries: text or json')
        .argParser(outputFormat)
        .default('text'),
    )
    .option('-C, --cwd <folder>', 'the workspace, instead of the current folder')
    .option('--trust-workspace', "with the project's rules, as of a trusted folder")
    .option('--env-file <path>', 'read our variables from this file as well');
}

/** Adds the flags of `context`. */
export function addContextFlags(command: Command): Command {
  return addModelsFlags(command)
    .option('-m, --model <model>', 'the model to ask')
    .option('--trust-workspace', 'with the settings and skills of the project: see chatcli trust')
    .option('--worker <name>', 'the worker; coder by default');
}

/** The flags of a command, with those given before its name where it does not say otherwise. */
export function runFlagsOf(command: Command): RunFlags {
  const flags: Record<string, unknown> = { ...command.opts() };
  const before = command.parent;
  for (const [name, value] of Object.entries(before?.opts() ?? {})) {
    const given = before?.getOptionValueSource(name) === 'cli' && command.getOptionValueSource(name) !== 'cli';
    if (given) flags[name] = value;
  }
  const { agent, ...named } = flags as RunFlags & { agent?: string };
  return agent === undefined ? named : { ...named, worker: named.worker ?? agent };
}
