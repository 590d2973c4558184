/** Which paths decide what runs later: a change there is asked for in every mode. Looks at names only. */
import { foldedSegments } from './path-segments.js';

export const PROTECTED_FOLDERS = new Set(['.git', '.chatcli', '.claude', '.agents', '.vscode', '.idea', '.husky']);
export const PROTECTED_NAMES = new Set(['.mcp.json', '.envrc', '.npmrc', '.gitmodules', '.gitconfig']);
/** Of other editors and assistants, and what other programs run from the folder that they are started in. */
const OTHERS = new Set(
  '.cursor .codex .gemini .windsurf .continue .zed .devcontainer .yarnrc .yarnrc.yml .pnpmfile.cjs .vimrc .exrc .nvim.lua .gdbinit .direnvrc'.split(
    ' ',
  ),
);
const SHELL_STARTUP =
  /^(?:\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|mkshrc|cshrc|tcshrc|login|logout|inputrc|xprofile|xinitrc)|config\.fish|(?:microsoft\.\w+_)?profile\.ps1)$/;
/** Of the user's `.config`: what shells and git read at each start. */
const PROTECTED_CONFIG = new Set(['fish', 'git', 'powershell']);

/** `path` is relative to the workspace: a workspace that itself lies under `.claude/worktrees` is an ordinary one. */
export function isProtectedPath(path: string): boolean {
  const segments = foldedSegments(path);
  const name = segments.at(-1) ?? '';
  if (PROTECTED_NAMES.has(name) || SHELL_STARTUP.test(name)) return true;
  if (segments.some((segment, index) => segment === '.config' && PROTECTED_CONFIG.has(segments[index + 1] ?? '')))
    return true;
  // Windows opens `.git.` and `.git ` as `.git`, and `git~1` by its short name.
  if (segments.some((segment) => OTHERS.has(segment))) return true;
  return segments.some((segment) => PROTECTED_FOLDERS.has(segment.replace(/[. ]+$/, '')) || segment === 'git~1');
}
