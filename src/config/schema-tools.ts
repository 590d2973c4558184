/** The variables about what tools may do and how they do it: a part of the schema. */
import type { Variable } from './schema.js';
import { absolutePaths, approvalMode, boolean, duration, line, sandboxSetting } from './value-types.js';

export const TOOL_VARIABLES = {
  CHATCLI_APPROVAL_MODE: {
    group: 'limits',
    type: approvalMode,
    flag: 'approvalMode',
    help: '`read-only`, `ask`, `auto-edit` or `full-auto`. Unset: `ask` at a terminal, else `read-only`.',
  },
  CHATCLI_APPROVAL_TIMEOUT: {
    group: 'limits',
    type: duration,
    default: '30m',
    help: 'How long a question at a terminal waits for its answer; then it counts as no, so that a run which nobody watches comes to an end. Without a terminal nobody is asked.',
  },
  // In the environment alone: an env file may be a project's, and a project has no say in what it is kept to.
  CHATCLI_SANDBOX: {
    group: 'limits',
    type: sandboxSetting,
    default: 'auto',
    flag: 'sandbox',
    environmentOnly: true,
    help: '`auto`: commands run in a sandbox in mode `full-auto`, which needs one. `required`: in every mode, or not at all. `off`: never. Real environment only, here and in the next two.',
  },
  CHATCLI_SANDBOX_NETWORK: {
    group: 'limits',
    type: boolean,
    default: 'false',
    flag: 'sandboxNetwork',
    environmentOnly: true,
    help: 'Whether commands in the sandbox reach the network.',
  },
  CHATCLI_SANDBOX_READ: {
    group: 'limits',
    type: absolutePaths,
    environmentOnly: true,
    help: 'Files and folders that commands in the sandbox may read although it hides them (the home folder, `.env`), with `:` between them.',
  },
  CHATCLI_SHELL: {
    group: 'limits',
    type: line,
    help: 'The shell for commands, a name or an absolute path: `bash`, `sh`, `dash`, `zsh`, `fish`, `pwsh`, `powershell` or `cmd`. Commands of the last five each need a question. Unset: `bash`, or `/bin/sh` where there is none.',
  },
} as const satisfies Readonly<Record<string, Variable>>;
