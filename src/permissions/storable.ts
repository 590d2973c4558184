/**
 * Which commands an answer may allow for good. None that runs what is given to it, and what it is given today may be
 * harmless: git, interpreters, shells, programs that run other programs or install them. A package manager only where it
 * runs a script by name.
 */
import { programName } from './shell-unwrap.js';

const NEVER = new Set(
  [
    'git hg svn jj gh glab',
    'node nodejs deno bun python perl ruby php lua luajit R Rscript julia tclsh wish osascript pwsh powershell cmd awk gawk mawk nawk sed ed ex vi vim nvim emacs',
    'sh bash zsh dash ksh mksh ash yash fish csh tcsh rbash',
    'env timeout nice nohup time command exec builtin eval source . trap alias stdbuf setsid ionice chrt taskset sudo doas su runuser pkexec xargs parallel find watch entr script expect unshare chroot nsenter bwrap flock ltrace strace gdb lldb busybox toybox ssh scp sftp rsync docker podman kubectl nix nix-shell',
    'npx pnpx bunx dlx pip pipx uv uvx poetry pipenv conda mamba gem bundle bundler composer brew apt apt-get aptitude dpkg yum dnf rpm pacman apk zypper snap flatpak port choco scoop winget corepack nvm volta asdf mise',
    'cd pushd popd export unset set shopt hash enable printf declare typeset let read test [ [[',
  ].flatMap((names) => names.toLowerCase().split(' ')),
);

/** What a package manager may be allowed to do for good: what the project itself calls a script. */
const SCRIPTS = new Map([
  ...['npm', 'pnpm', 'yarn'].map(
    (name) => [name, /^(?:test|t|start|build|lint|run \S+|run-script \S+)(?: |$)/] as const,
  ),
  ['cargo', /^(?:test|build|check|clippy|fmt|doc|bench)(?: |$)/],
  ['go', /^(?:test|build|vet|fmt)(?: |$)/],
]);

export function mayBeStored(words: readonly (string | null)[]): boolean {
  const [program, ...rest] = words;
  if (program === undefined || program === null || rest.includes(null)) return false;
  const name = programName(program);
  // `python3.12` and its like.
  if (NEVER.has(name) || NEVER.has(name.replace(/[\d.]+$/, ''))) return false;
  const script = SCRIPTS.get(name);
  return script === undefined || script.test(rest.join(' '));
}
