/** Whether the commands of a run are kept in a sandbox, and which: from the mode, the flags and what there is. */
import type { Config } from '../config/config.js';
import { ConfigError } from '../errors.js';
import type { ApprovalMode } from '../permissions/types.js';
import { createStubs } from '../tools/shell/sandbox-stubs.js';
import type { Sandbox } from '../tools/shell/sandbox-types.js';

export type RunSandboxRequest = {
  readonly config: Config;
  readonly mode: ApprovalMode;
  /** The flag that gives up the sandbox of full-auto. */
  readonly skipsPermissions: boolean;
  readonly roots: readonly string[];
  readonly childEnvironment: Readonly<Record<string, string>>;
  readonly spools: () => readonly string[];
};

export type RunSandbox = { readonly sandbox?: Sandbox; readonly notices: readonly string[] };

/**
 * `required`: every command runs inside, whatever allowed it. `auto`: those of full-auto do, where the sandbox stands for
 * the question; in the other modes a rule or a person lets each command pass, as it is. `off`: none.
 * @throws {ConfigError} where there is none and one is needed: nothing ever runs outside in silence.
 */
export async function openRunSandbox(request: RunSandboxRequest): Promise<RunSandbox> {
  const { config, mode, skipsPermissions, roots, childEnvironment, spools } = request;
  const { setting, network, readable } = config.sandbox;
  const needsOne = mode === 'full-auto' && !skipsPermissions;
  if (needsOne && setting === 'off') {
    throw new ConfigError('The mode full-auto needs a sandbox, and it is switched off (--sandbox, CHATCLI_SANDBOX).', {
      hint: WITHOUT,
    });
  }
  const { config: configFolder, data, state, cache } = config.folders;
  if (setting !== 'required' && !needsOne) {
    // An empty folder named .npmrc or .envrc that a killed run left is in the way of other programs as well.
    await createStubs(state).sweep();
    return { notices: [] };
  }
  // Most runs have none.
  const { openSandbox } = await import('../tools/shell/sandbox.js');
  const opened = await openSandbox({
    roots,
    childEnvironment,
    ownFolders: [configFolder, data, state, cache],
    stateFolder: state,
    network,
    readable,
    spools,
  });
  if (opened.sandbox !== undefined) return opened;
  if (setting === 'required') {
    throw new ConfigError(`A sandbox is required (--sandbox, CHATCLI_SANDBOX), but ${opened.problem}.`, {
      hint: opened.hint,
    });
  }
  throw new ConfigError(`The mode full-auto needs a sandbox, but ${opened.problem}.`, {
    hint: `${opened.hint} ${WITHOUT}`,
  });
}

const WITHOUT =
  "Without one: --approval-mode auto-edit with rules such as --allowed-tools 'shell(npm test)', or --dangerously-skip-permissions if nothing here is worth protecting.";
