/** What the model is told of a sandbox: in short before it starts, and where a failure looks like the sandbox's doing. */
import type { Sandbox } from './sandbox-types.js';

/** For the tool's text. */
export function sandboxAdvice({ hasNetwork }: Sandbox): string {
  const network = hasNetwork ? '' : 'no network, ';
  return `Commands run in a sandbox: ${network}only the workspace can be written (not .git/config, .git/hooks and settings such as .vscode), the home folder and /tmp are empty and last for one command, .env files and keys can't be read.`;
}

export type Ended = { readonly output: string; readonly exitCode: number | null };

type Row = { readonly output: RegExp; readonly onlyOffline?: true; readonly hint: string };

/** The first row that fits counts. */
const ROWS: readonly Row[] = [
  {
    output:
      /Network is unreachable|Could not resolve|name resolution|EAI_AGAIN|ENETUNREACH|ENOTFOUND|Couldn't connect|Connection refused|ECONNREFUSED/i,
    onlyOffline: true,
    hint: 'the sandbox has no network; the user can allow it with --sandbox-network',
  },
  {
    output: /Read-only file system|EROFS|Device or resource busy|EBUSY/,
    hint: 'in the sandbox only the workspace can be written, and of it not what decides what runs later: .git/config, .git/hooks, .chatcli, .claude, .vscode and the like',
  },
  {
    output:
      /(?:\.env\b|\.pem\b|\bid_\w+|\.npmrc|\.netrc|\/etc\/g?shadow).*(?:Permission denied|EACCES)|EACCES.*(?:\.env\b|\.pem\b)/i,
    hint: 'files that hold secrets by their names cannot be read in the sandbox; the user can allow one with CHATCLI_SANDBOX_READ',
  },
];

/** What to tell about a failure, or undefined where it does not look like the sandbox. */
export function sandboxHint(sandbox: Sandbox, { output, exitCode }: Ended): string | undefined {
  if (exitCode === 0) return undefined;
  const row = ROWS.find(({ output: looks, onlyOffline }) => looks.test(output) && !(onlyOffline && sandbox.hasNetwork));
  return row?.hint;
}
