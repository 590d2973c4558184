/** A policy as a profile for macOS' sandbox-exec. Text only; of the rules that fit a path the last one counts. */
import type { SandboxPolicy } from './sandbox-types.js';

export type SeatbeltPlan = { readonly policy: SandboxPolicy; readonly network: boolean };

/** The arguments before the program's own. */
export function seatbeltArguments(plan: SeatbeltPlan): string[] {
  return ['-p', seatbeltProfile(plan)];
}

/** Where every program writes: devices of its own, and temporary files. The system links /tmp and /var to /private. */
const TEMPORARY = ['/private/tmp', '/private/var/tmp', '/private/var/folders'];
const DEVICES = ['/dev/null', '/dev/zero', '/dev/tty', '/dev/stdout', '/dev/stderr', '/dev/dtracehelper'];

export function seatbeltProfile({ policy, network }: SeatbeltPlan): string {
  const { writable, hidden, readable, anchored, readOnly, masked, maskedFolders, missing, links, shown } = policy;
  const fixed = [...readOnly, ...missing.map(({ path }) => path), ...links.map(({ path }) => path)];
  const covered = [...masked, ...maskedFolders];
  return [
    '(version 1)',
    '(allow default)',
    '(deny file-write*)',
    rule('allow file-write*', [...DEVICES.map(literal), ...TEMPORARY.map(subpath)]),
    rule('deny file-read* file-write*', hidden.map(subpath)),
    // Without a look at the folders above, no path below can be resolved.
    rule('allow file-read-metadata', hidden.map(subpath)),
    rule('allow file-read*', readable.map(subpath)),
    rule('allow file-read* file-write*', writable.map(subpath)),
    rule('deny file-write-unlink', anchored.map(literal)),
    rule('deny file-write*', fixed.map(subpath)),
    rule('deny file-read* file-write*', covered.map(subpath)),
    rule('allow file-read*', shown.map(subpath)),
    ...(network ? [] : ['(deny network*)']),
    // What else would start a program outside.
    '(deny process-info* (target others))',
    '(deny mach-register)',
    '(deny appleevent-send)',
  ]
    .filter((line) => line !== '')
    .join('\n');
}

function rule(action: string, filters: readonly string[]): string {
  return filters.length === 0 ? '' : `(${action} ${[...new Set(filters)].join(' ')})`;
}

function literal(path: string): string {
  return `(literal ${quoted(path)})`;
}

function subpath(path: string): string {
  return `(subpath ${quoted(path)})`;
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
