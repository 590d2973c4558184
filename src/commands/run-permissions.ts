/** Opens the permissions of a run: its rules from flags and files, its place, and where answers for good are stored. */
import { storeRule } from '../config/stored-rules.js';
import { messageOf } from '../errors.js';
import type { ApprovalMode } from '../permissions/types.js';
import type { RunFlags } from './flags.js';
import { createPermissions, type Permissions } from './permissions.js';
import { protectedFolders } from './protected-folders.js';
import { loadRules, type RuleSources } from './rule-sources.js';

export type RunPermissionOptions = RuleSources & {
  readonly flags: Pick<RunFlags, 'dangerouslySkipPermissions'>;
  readonly mode: ApprovalMode;
  readonly sandboxed: boolean;
  readonly canAsk: boolean;
  readonly warn: (text: string) => void;
};

/** @throws {UsageError} {ConfigError} as `loadRules`. */
export async function openPermissions(options: RunPermissionOptions): Promise<Permissions> {
  const { loaded, flags, roots } = options;
  const { folders, approvalTimeoutMs } = loaded.config;
  const { rules, place, folder } = await loadRules(options);
  return createPermissions({
    mode: options.mode,
    rules,
    place,
    protectedFolders: await protectedFolders(roots, folders),
    sandboxed: options.sandboxed,
    skipPermissions: flags.dangerouslySkipPermissions === true,
    canAsk: options.canAsk,
    timeoutMs: approvalTimeoutMs,
    store: (text) => storeRule(folders.state, loaded.trust.root, { text, folder }),
    onStoreFailure: (thrown) =>
      options.warn(`The rule is only kept until this run ends, since it could not be stored: ${messageOf(thrown)}`),
  });
}
