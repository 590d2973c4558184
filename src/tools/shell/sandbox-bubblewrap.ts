/** A policy as arguments for bubblewrap. Pure; later arguments cover earlier ones, so the order is the policy too. */
import type { SandboxPolicy } from './sandbox-types.js';

/** Always empty inside, and writable there: other programs' sockets and files are in the real ones. */
export const EMPTY_INSIDE = ['/tmp', '/run', '/var/tmp'] as const;

const NAMESPACES = [
  ...['--unshare-all', '--unshare-user', '--disable-userns', '--cap-drop', 'ALL'],
  // A session of its own keeps commands from typing into our terminal.
  ...['--die-with-parent', '--new-session'],
];

export type BubblewrapPlan = {
  readonly policy: SandboxPolicy;
  readonly network: boolean;
  readonly cwd: string;
  /** Files that stand in the place of others. */
  readonly replaced?: readonly { readonly path: string; readonly by: string }[];
};

/** The arguments before the program's own. Every path but of `missing` has to exist, and those of `missing` by then. */
export function bubblewrapArguments({ policy, network, cwd, replaced = [] }: BubblewrapPlan): string[] {
  const { writable, hidden, readable, anchored, readOnly, masked, maskedFolders, missing, shown } = policy;
  return [
    ...NAMESPACES,
    ...(network ? ['--share-net'] : []),
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...inOrder([...EMPTY_INSIDE, ...hidden]).flatMap((path) => ['--tmpfs', path]),
    ...inOrder(readable).flatMap((path) => ['--ro-bind', path, path]),
    ...inOrder(writable).flatMap((path) => ['--bind', path, path]),
    // What something is mounted on can't be renamed; what lies below could be, were it not for these.
    ...inOrder(anchored).flatMap((path) => ['--bind', path, path]),
    ...inOrder([...readOnly, ...missing.map(({ path }) => path)]).flatMap((path) => ['--ro-bind', path, path]),
    ...replaced.flatMap(({ path, by }) => ['--ro-bind', by, path]),
    ...inOrder(maskedFolders).flatMap((path) => ['--tmpfs', path, '--remount-ro', path]),
    // A device on a mount without devices: it can be neither opened nor replaced.
    ...inOrder(masked).flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...inOrder(shown).flatMap((path) => ['--ro-bind', path, path]),
    ...['--chdir', cwd],
    '--',
  ];
}

/** Each once, parents before what they hold. */
function inOrder(paths: readonly string[]): string[] {
  return [...new Set(paths)].sort((a, b) => (a < b ? -1 : 1));
}
