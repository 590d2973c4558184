import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shellPlace } from './shell-bench.js';

describe('the exit codes of a pipeline', () => {
  it.each<[string, string, string]>([
    ['of the row', `sh -c 'exit 3' | cat`, 'exit code 0 (of the last command); pipeline: 3, 0'],
    ['of three parts', 'true | false | (exit 4)', 'exit code 4 (of the last command); pipeline: 0, 1, 4'],
    ['of |&', 'false |& cat', 'exit code 0 (of the last command); pipeline: 1, 0'],
    ['behind an explicit exit', 'false | true; exit 0', 'exit code 0 (of the last command); pipeline: 1, 0'],
    [
      'in a script that stops at errors',
      'set -euo pipefail; (exit 9) | cat; echo never',
      'exit code 9 (of the last command); pipeline: 9, 0',
    ],
    ['that is turned round', '! false | true', 'exit code 1 (of the last command); pipeline: 1, 0'],
    ['on several lines', 'cd sub\nfalse |\n  cat', 'exit code 0 (of the last command); pipeline: 1, 0'],
    [
      'with a here document',
      'cat <<X | (cat >/dev/null; false) | cat\na|b\nX',
      'exit code 0 (of the last command); pipeline: 0, 1, 0',
    ],
    ['in a loop', 'for i in 1 2; do false | true; done', 'exit code 0 (of the last command); pipeline: 1, 0'],
    [
      'whose reader left',
      'yes | head -1',
      'exit code 0 (of the last command); pipeline: 141 (as after signal SIGPIPE), 0',
    ],
    [
      'that ends a script which traces itself',
      'set -x; false | true',
      'exit code 0 (of the last command); pipeline: 1, 0',
    ],
  ])('are told: %s [pain 49]', async (_name, command, status) => {
    const place = await shellPlace();
    const { output, ok } = await place.run(command);
    expect(output.split('\n').at(-1)).toBe(status);
    expect(ok).toBe(status.startsWith('exit code 0'));
    expect(output).not.toContain('PIPESTATUS');
  });

  it.each<[string, string, string]>([
    ['all is well', 'echo a | cat', 'exit code 0'],
    ['it is not the last command', 'false | true; echo a', 'exit code 0'],
    ['there is none', 'false || true', 'exit code 0'],
    ['the bar is only quoted', `echo 'a|b'; exit 3`, 'exit code 3'],
    ['the script has an end of its own', `trap 'echo bye' EXIT; false | true`, 'exit code 0'],
    ['the shell became another program', 'false | true; exec true', 'exit code 0'],
    ['the pipe for it is closed', 'exec 47>&-; false | true', 'exit code 0'],
    ['the script has a function of that name', 'echo() { printf "mine\\n"; }; echo | cat', 'exit code 0'],
  ])('are not told where %s', async (_name, command, status) => {
    expect((await (await shellPlace()).run(command)).output.split('\n').at(-1)).toBe(status);
  });

  it('come within the time limit, whoever holds the pipe for them open', async () => {
    const place = await shellPlace();
    const { output } = await place.run('(setsid sleep 300 >/dev/null 2>&1 &) ; false | true');
    expect(output).toMatch(/pipeline: 1, 0$/);
  });

  it('are told of a command in the background too', async () => {
    const { output } = await (await shellPlace()).run({ command: 'false | cat', background: true });
    expect(output).toMatch(/b1 ended: exit code 0 \(of the last command\); pipeline: 1, 0$/);
  });

  it('are not asked of a shell that is not bash', async () => {
    const place = await shellPlace({ shell: '/bin/sh' });
    expect((await place.run('false | true')).output).toBe('(no output)\n(cwd: .)\nexit code 0');
  });
});

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: bash's own
/** Scripts whose meaning a wrapper easily changes. */
const SCRIPTS: readonly string[] = [
  'echo $# "[$1]" "[$0]" "$@"',
  'echo "$LINENO"\necho "$LINENO" | cat',
  'if then\nfi | cat',
  'echo a; if then',
  'echo "unfinished',
  'cat <<X | cat\nno end',
  'nope-at-all\nnope-again | cat',
  'echo a | cat\n}\necho b',
  '; ls | cat',
  'set -e; false; echo no | cat',
  'set -u; echo "$nope" | cat; echo on',
  'set -o pipefail; false | cat; echo $?',
  'false | true; echo ${PIPESTATUS[@]}',
  'trap "echo bye" EXIT; exit 4 | cat',
  'trap "echo err" ERR; false; true | false',
  'trap "echo term; exit 9" TERM; kill -TERM $$; echo on | cat',
  'exec echo a | cat; echo b',
  'echo a | cat; exec echo b',
  '(exit 3) | (exit 4); (exit 5)',
  'return 3 | cat',
  'f() { return 7; }; echo a | f',
  'x=1; echo b | { read x; echo $x; }; echo $x',
  'shopt -s lastpipe; echo b | read x; echo $x',
  'set -x; echo a; f() { return 3; }; f || echo "b|c"',
  'set -v\necho a | cat',
  'alias e=echo\ne a | cat',
  'shopt -s expand_aliases\nalias e=echo\ne a | cat',
  'declare -i n=3; local y=1 | cat',
  'exec 3>out.txt; echo a >&3 | cat; cat out.txt',
  'exec 3<&0; cat <&3 | cat',
  'echo a 1>&2 | cat; echo b >&2',
  'diff <(echo a) <(echo b) | cat',
  'read line | cat; echo "got $?"',
  'printf "a\\0b" | od -c',
  'kill -9 $$ | cat',
  'cat missing 2>/dev/null | cat; test ! -e missing && echo gone | cat',
  'history | cat; jobs | cat; times >/dev/null | cat',
  'echo $BASH_SUBSHELL | cat; (echo $BASH_SUBSHELL | cat)',
  'bash -c "exit 3" | cat; echo "${PIPESTATUS[0]}"',
  'wait | cat; sleep 0 & wait $! | cat; echo $?',
  '# only a comment |',
  'echo \'a\' | sed "s/a/$1b/"',
  'exit',
  'exit 300 | cat; exit 300',
  'case a in a|b) echo yes;; esac',
  '[[ a =~ (a|b) ]] && echo "${BASH_REMATCH[1]}"',
];
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: bash's own

describe('a command means what it means to bash alone', () => {
  it.each(SCRIPTS)('%j', async (script) => {
    const place = await shellPlace();
    const alone = join(place.folder, 'alone', 'ws');
    mkdirSync(join(alone, 'sub'), { recursive: true });
    // Both streams in one file, as a terminal would have them; errors name no other place than the command.
    const line = `exec >"$1" 2>&1 </dev/null; exec "$(command -v bash)" --noprofile --norc -c "$2"`;
    const log = join(place.folder, 'log');
    const { status, signal } = spawnSync('bash', ['-c', line, 'x', log, script], {
      cwd: alone,
      env: { PATH: process.env.PATH ?? '', TERM: 'dumb' },
    });
    const { output, command } = await place.run(script, {
      childEnvironment: { PATH: process.env.PATH ?? '', TERM: 'dumb' },
    });
    const [end = '', , ...lines] = output.split('\n').reverse();
    const printed = readFileSync(log, 'utf8').replaceAll(alone, place.root).replace(/\n$/, '').replaceAll('\0', '');
    expect(withoutIds(lines.reverse().join('\n'))).toBe(withoutIds(printed === '' ? '(no output)' : printed));
    expect([end, command?.exitCode]).toEqual([end, status ?? (signal === 'SIGKILL' ? 137 : 0)]);
    expect(existsSync(join(place.root, 'out.txt'))).toBe(existsSync(join(alone, 'out.txt')));
  });
});

/** Process ids differ from run to run. */
function withoutIds(text: string): string {
  return text.replace(/(line \d+:|pid) +\d{2,} /g, '$1 PID ');
}

describe('our own words', () => {
  it.each(['if then', 'echo a |', 'echo a | )'])('are not shown where the shell complains: %s', async (command) => {
    const place = await shellPlace();
    const { output, code } = await place.run(command);
    expect(output).toMatch(/bash: -c: line \d: /);
    expect(output).not.toMatch(/exec 2>&1|PIPESTATUS|trap/);
    expect(code).toBe('exit-code');
  });
});
