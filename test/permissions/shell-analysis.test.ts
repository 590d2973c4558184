import { describe, expect, it } from 'vitest';
import { analyzeCommand } from '../../src/permissions/shell-analysis.js';
import {
  deniedBy,
  hasUnreadableProgram,
  mayBeDeniedBy,
  parseCommandSpec,
  wordsMatch,
} from '../../src/permissions/shell-match.js';

const wordsOf = (command: string) => analyzeCommand(command).commands.map(({ words }) => words.join(' '));

describe('analyzeCommand', () => {
  it.each([
    ['a list', "ls && wc -l 'a b'; pwd | cat\nid", ['ls', 'wc -l a b', 'pwd', 'cat', 'id']],
    ['groups', '(a; { b; })', ['a', 'b']],
    ['jobs in the background', 'a & b', ['a', 'b']],
    ['conditions', 'if a; then b; elif c; then d; else e; fi', ['a', 'b', 'c', 'd', 'e']],
    ['loops', 'while a; do b; done; for x in 1; do c; done; until d; do e; done', ['a', 'b', 'c', 'd', 'e']],
    ['a case', 'case x in y) a;; *) b;; esac', ['a', 'b']],
    ['functions', 'f() { a; }; function g { b; }; f', ['a', 'b', 'f']],
    ['substitutions', 'a "$(b `c`)"', ['a ', 'b ', 'c']],
    ['process substitutions', 'a <(b) > >(c)', ['a ', 'b', 'c']],
    ['expansions', `a $\{x:-$(b)} $((1 + $(c))) $\{y[$(d)]}`, ['a   ', 'b', 'c', 'd']],
    ['here documents', 'a <<E\n$(b)\nE', ['a', 'b']],
    ['assignments', 'X=$(a) b', ['b', 'a']],
    ['tests', '[[ -n $(a) ]] && (( x[$(b)] ))', ['a', 'b']],
    ['negations, times, coprocesses', '! a; time -p b; coproc c', ['a', 'b', 'c']],
    ['decoded words', `cu''rl \\x $'\\x79' "z"`, ['curl x y z']],
  ])('finds every command in %s', (_name, command, words) => {
    expect(wordsOf(command)).toEqual(words);
    expect(analyzeCommand(command).opaque).toBeUndefined();
  });

  it.each([
    ['env', 'env -i -u A B=c x y', 'x y'],
    ['env with a text', "env -S 'x y'", 'x y'],
    ['timeout', 'timeout -k 1 --signal=KILL 5s x', 'x'],
    ['nice', 'nice -n 5 x', 'x'],
    ['nice with a number', 'nice -5 x', 'x'],
    ['nohup', 'nohup x', 'x'],
    ['time as a program', '/usr/bin/time -f %e x', 'x'],
    ['command', 'command -p x', 'x'],
    ['builtin', 'builtin x', 'x'],
    ['exec', 'exec -a name x', 'x'],
    ['stdbuf', 'stdbuf -oL -e 0 x', 'x'],
    ['setsid', 'setsid -w x', 'x'],
    ['ionice', 'ionice -c2 -n 7 x', 'x'],
    ['sudo', 'sudo -nu me A=b -- x', 'x'],
    ['doas', 'doas -u me x', 'x'],
    ['xargs', 'xargs -0 -n1 -I {} x {}', 'x {}'],
    ['find', "find . -name a -exec x '{}' ';' -okdir y '{}' +", 'x {}', 'y {}'],
    ['sh', "sh -c 'x; y'", 'x', 'y'],
    ['bash with flags', "bash --norc -eo pipefail -c 'x'", 'x'],
    ['a shell that reads', 'bash <<E\nx\nE', 'x'],
    ['a shell that reads a word', "zsh -s <<< 'x'", 'x'],
    ['eval', "eval x 'y; z'", 'x y', 'z'],
    ['trap', "trap 'x' EXIT", 'x'],
    ['alias', "alias a='x'", 'x'],
    ['busybox', 'busybox x', 'x'],
    ['watch', 'watch -n 1 x y', 'x y'],
    ['watch without a shell', 'watch -x x y', 'x y'],
    ['flock', 'flock file x', 'x'],
    ['flock with a text', "flock -n file -c 'x'", 'x'],
    ['su', "su me -c 'x'", 'x'],
    ['an alias of git', 'git -c alias.a=!x a', 'x'],
    ['a setting of git', 'git -c core.pager=x log', 'x'],
    ['submodules of git', 'git submodule foreach --recursive x y', 'x y'],
    ['rebase of git', 'git rebase -x x HEAD', 'x'],
    ['a path to it', '/usr/bin/env x', 'x'],
    [
      'one in another',
      "nohup env A=b sh -c 'timeout 5 x'",
      'env A=b sh -c timeout 5 x',
      'sh -c timeout 5 x',
      'timeout 5 x',
      'x',
    ],
  ])('finds what %s runs', (_name, command, ...words) => {
    const { commands } = analyzeCommand(command);
    expect(commands.filter(({ isInner }) => isInner).map(({ words }) => words.join(' '))).toEqual(words);
    expect(commands[0]?.isInner).toBe(false);
  });

  it.each([
    'env',
    'command -v x',
    'sudo -l',
    'xargs',
    'bash script.sh',
    'bash --version',
    'trap - EXIT',
    'find . -name x',
    'source file',
    'time',
    'nohup',
  ])('finds nothing that runs in: %s', (command) => {
    expect(analyzeCommand(command).commands.filter(({ isInner }) => isInner)).toEqual([]);
  });

  it.each([
    '$X y',
    '"$X" y',
    '{x,y}',
    'x* y',
    '~/x',
    'env --unknown x',
    'env $X y',
    'timeout $X y',
    'sh -c "$X"',
    'sh -$X y',
    'curl x | sh',
    'bash -',
    'bash /dev/stdin',
    'bash <(curl x)',
    'source <(curl x)',
    'eval "$(x)"',
    "env -S 'cu\\\\cx'",
    'find . $X',
    "find . -exec $X ';'",
    'xargs $X',
    'sudo -Z x y',
    '$(echo x) y',
    'ls "unfinished',
    '))',
  ])('does not know what program runs in: %s', (command) => {
    expect(hasUnreadableProgram(analyzeCommand(command))).toBe(true);
    expect(analyzeCommand(command).isLiteral).toBe(false);
  });

  it.each([
    ['NUL', 'ls \0', 'it holds a NUL'],
    ['length', `ls ${'a'.repeat(10_000)}`, 'it is too long to be looked through'],
    ['letters beyond ASCII', 'ls é', 'it holds characters that are not plain ASCII'],
    ['a carriage return', 'ls\r', 'it holds characters that are not plain ASCII'],
    ['a line separator', 'ls\u2028x', 'it holds characters that are not plain ASCII'],
    ['201 commands', 'ls;'.repeat(201), 'it holds more than 200 commands'],
    ['an open quote', "ls '", 'bash would not take it (unterminated single quote)'],
    ['an operator without a command', 'ls &&', "bash would not take it (expected command after '&&')"],
    ['an open quote within', `sh -c "ls '"`, 'bash would not take it (unterminated single quote)'],
    ['wrappers without end', 'env '.repeat(2_000), 'it holds more commands in one another than can be followed'],
  ])('is opaque for %s', (_name, command, opaque) => {
    expect(analyzeCommand(command)).toMatchObject({ opaque, isLiteral: false });
  });

  it.each([
    ['a text that is too long', `${'ls x;'.repeat(3_000)}curl y`],
    ['many commands', `${'ls;'.repeat(300)}curl y`],
    ['a NUL', 'ls\0; curl y'],
    ['letters beyond ASCII', 'echo é; curl y'],
    ['an error', "curl y; ls 'x"],
  ])('still finds what is in an opaque one: %s', (_name, command) => {
    expect(deniedBy(['curl', '*'], analyzeCommand(command))).toBe(true);
  });

  it.each([
    ["ls | sort\nwc 'a\nb'", true],
    ['env A=b ls', true],
    ["sh -c 'ls; pwd'", true],
    ["sh -c 'ls > x'", false],
    ["sh -c 'ls $X'", false],
    ['sh -c ls x > y', false],
    ['ls\tx', false],
  ])('calls %j literal: %s', (command, isLiteral) => {
    expect(analyzeCommand(command).isLiteral).toBe(isLiteral);
  });
});

describe('parseCommandSpec', () => {
  it.each([
    ['npm test', ['npm', 'test']],
    ['npm run *', ['npm', 'run', '*']],
    ['npm run:*', ['npm', 'run', '*']],
    ["git commit -m 'a b'", ['git', 'commit', '-m', 'a b']],
    ['*', ['*']],
    [' ls ', ['ls']],
    ['', undefined],
    ['ls; rm', undefined],
    ['ls $X', undefined],
    ['ls *.ts', undefined],
    ['ls > x', undefined],
    ['npm*', undefined],
  ])('reads %j', (text, words) => {
    expect(parseCommandSpec(text)).toEqual(words);
  });
});

describe('matching', () => {
  it.each([
    ['npm run *', ['npm', 'run', 'build'], true],
    ['npm run *', ['npm', 'run'], true],
    ['npm run *', ['npm', 'run', 'a', 'b'], true],
    ['npm run *', ['npm', 'runx'], false],
    ['npm run *', ['/usr/bin/npm', 'run'], false],
    ['npm run', ['npm', 'run', 'build'], false],
    ['npm run *', ['npm', null], false],
    ['npm *', ['npm', null], true],
    ['*', ['x'], true],
    ['*', [], false],
    ['*', [null], true],
  ])('%s fits %j: %s', (spec, words, fits) => {
    expect(wordsMatch(parseCommandSpec(spec) ?? [], words)).toBe(fits);
  });

  it.each([
    'curl x',
    '/usr/bin/curl x',
    "cu''rl x",
    '\\curl x',
    'CURL x',
    'curl.exe x',
    'env -i timeout 5 /usr/bin/curl x',
    `sh -c "cu''rl x"`,
    "find . -exec curl x '{}' ';'",
    'echo $(curl x)',
    'ls; A=b curl x &',
    'curl $X',
    'cat <<E\n`curl x`\nE',
    'x() { curl y; }',
    'git -c alias.a="!curl x" a',
    'bash <<< "curl x"',
  ])('a rule against curl covers: %s', (command) => {
    expect(deniedBy(['curl', '*'], analyzeCommand(command))).toBe(true);
  });

  it.each([
    'npx curl x',
    'npm exec -c "curl x"',
    'setarch -R curl x',
    '/lib64/ld-linux-x86-64.so.2 /usr/bin/curl x',
    "tar -I 'curl x' -cf a f",
    "tar --checkpoint-action=exec='curl x' --checkpoint=1 -cf a f",
    'ssh h curl x',
    "ssh -oProxyCommand='curl x' h",
    `python3 -c 'import os; os.system("curl x")'`,
    "vim -c '!curl x'",
    "man -P 'curl x' ls",
    'rg --pre curl x',
    'fd -x curl {}',
    'cp /usr/bin/curl c; ./c x',
    'hash -p /usr/bin/curl ls; ls x',
    "mapfile -C 'curl x' -c 1 < f",
    "at now <<< 'curl x'",
    "echo 'curl x' | at now",
    'enable -f ./f.so x',
    "test -v 'a[$(curl x)]'",
    "[[ 'a[$(curl x)]' -eq 0 ]]",
    "printf -v 'a[$(curl x)]' x",
    "x='a[$(curl x)]'; echo $((x))",
    `x='$(curl x)'; echo "\${x@P}"`,
    "GIT_EXTERNAL_DIFF='curl x' git diff",
    "A=b GIT_SSH_COMMAND='curl x' git fetch",
    'BASH_ENV=./f bash -c ls',
    'git grep -Ocurl x',
    'git grep --open-files-in-pager=curl x',
    "git fetch 'ext::curl x'",
    "git clone --upload-pack='curl x' . y",
    "git clone -u 'curl x' . y",
    "git clone -c core.sshCommand='curl x' ssh://h/x",
    "git push --receive-pack 'curl x' .",
    "git config alias.x '!curl x'",
  ])('a rule against curl may be about: %s', (command) => {
    expect(mayBeDeniedBy(['curl', '*'], analyzeCommand(command))).toBe(true);
  });

  it.each([
    './configure --with-curl',
    'npm run curl-test',
    'node fetch.js https://curl.se',
    'git commit -m "use curl"',
    'git add curl',
    'CI=1 npm test',
    'rm curl',
    "awk '{ print $1 }' f",
  ])('a rule against curl is not about: %s', (command) => {
    expect(mayBeDeniedBy(['curl', '*'], analyzeCommand(command))).toBe(false);
  });

  it.each(['echo curl x', "echo 'curl x'", 'curlx', 'ls curl', 'command -v curl', 'grep curl x'])(
    'a rule against curl does not cover: %s',
    (command) => {
      expect(deniedBy(['curl', '*'], analyzeCommand(command))).toBe(false);
      expect(mayBeDeniedBy(['curl', '*'], analyzeCommand(command))).toBe(false);
    },
  );

  it.each([
    ['git push *', 'git push', true, true],
    ['git push *', 'git -C sub -c a.b=c --no-pager push origin', true, true],
    ['git push *', 'git $X', false, true],
    ['git push *', 'git status', false, false],
    ['npm publish', 'npm publish --dry-run', false, false],
    ['npm publish', 'npm publish $X', false, true],
    ['npm publish', '$X publish', false, true],
  ])('a rule against %s, %s: %s, perhaps %s', (spec, command, denied, perhaps) => {
    const words = parseCommandSpec(spec) ?? [];
    expect(deniedBy(words, analyzeCommand(command))).toBe(denied);
    expect(mayBeDeniedBy(words, analyzeCommand(command))).toBe(perhaps);
  });
});
