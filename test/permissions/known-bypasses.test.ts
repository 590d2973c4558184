import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { flagHint } from '../../src/permissions/command-hint.js';
import { decide } from '../../src/permissions/policy.js';
import { isFolder, nearestRealPath } from '../../src/permissions/real-path.js';
import { parseRuleList } from '../../src/permissions/rules.js';
import { childEnvironment } from '../../src/permissions/secrets.js';
import { executeCall, prepareCall } from '../../src/tools/execute.js';
import { createShellTool } from '../../src/tools/shell/tool.js';
import { advertise } from '../../src/tools/spec.js';
import { createWorkspace } from '../../src/tools/workspace.js';

let folder: string;
let root: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bypass-')));
  root = join(folder, 'ws');
  mkdirSync(join(root, 'sub'), { recursive: true });
  for (const [name, text] of Object.entries({
    victim: 'precious\n',
    in: 'b\na\n',
    m: '0 string x y\n',
    // A program of the attacker under every name that may be taken for it.
    ...Object.fromEntries(['ls', 'x', 'e', 'curl', 'node_modules_bin', 'sub/ls'].map((name) => [name, EVIL])),
    'x.js': `require('fs').writeFileSync(__dirname + '/pwn', '')\n`,
    '.rgrc': '--pre=./x\n',
    '-delete': '',
    '.npmrc': 'script-shell=./x\n',
    'package.json': '{"scripts":{"test":"true"}}',
  }))
    write(name, text);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const EVIL = '#!/bin/sh\ncd "$(dirname "$0")" && touch pwn\n';

function write(name: string, text: string): void {
  writeFileSync(join(root, name), text);
  if (text.startsWith('#!')) chmodSync(join(root, name), 0o755);
}

/** Has a command judged and, where it is allowed, run, as the harness does for a run in mode ask with nobody to ask. */
async function attempt(command: string, environment: NodeJS.ProcessEnv = {}, rules: readonly string[] = []) {
  const tool = createShellTool();
  const workspace = await createWorkspace({ root });
  const context = {
    workspace,
    signal: AbortSignal.timeout(20_000),
    now: Date.now,
    update: () => undefined,
    childEnvironment: childEnvironment({ ...process.env, ...environment }),
    spoolDirectory: async () => folder,
    mask: (text: string) => text,
  };
  const call = { id: '1', name: 'shell', arguments: JSON.stringify({ command }) };
  const prepared = await prepareCall(
    call,
    { tools: new Map([['shell', tool]]), toolSpecs: advertise([tool]) },
    context.signal,
  );
  return executeCall(prepared, {
    context,
    decide: (request) =>
      decide(request, {
        mode: 'ask',
        rules: { allow: parseRuleList(rules), ask: [], deny: [] },
        sandboxed: false,
        skipPermissions: false,
        protectedFolders: [],
        workerReadOnly: false,
        canAsk: false,
        roots: [root],
        realPath: nearestRealPath,
        isFolder,
        howToAllow: flagHint,
      }),
    approve: () => Promise.reject(new Error('There is nobody to ask.')),
    emit: () => undefined,
  });
}

function expectNoEffect(): void {
  for (const name of ['pwn', 'out', 'sub/pwn', 'm.mgc'])
    expect([name, existsSync(join(root, name))]).toEqual([name, false]);
  expect(readFileSync(join(root, 'victim'), 'utf8')).toBe('precious\n');
  expect(readFileSync(join(root, 'in'), 'utf8')).toBe('b\na\n');
}

describe('a command that looks harmless', () => {
  it.each([
    'uniq in pwn',
    'sort -ro pwn in',
    "sed -n '1w pwn' in",
    `awk 'BEGIN{system("touch pwn")}'`,
    'ls |& tee pwn',
    'PATH=.:$PATH ls',
    'NODE_OPTIONS=--require=./x.js node -e 0',
    'npm test',
    "test -v 'a[$(touch pwn)]'",
    'cd sub; ../ls',
  ])('does harm where it is allowed: %s', async (command) => {
    await attempt(command, {}, ['shell']);
    expect(existsSync(join(root, 'pwn'))).toBe(true);
  });

  it.each([
    // Seen to write or run something in bash.
    'find victim \\-delete',
    'find victim {-delete,-print}',
    "find victim $'-delete'",
    'find victim -del*',
    'find victim -de\\\nlete',
    'find victim -delete',
    "find victim -exec rm '{}' ';'",
    'find . -fprint pwn',
    'uniq in pwn',
    'uniq in victim',
    'sort -rovictim in',
    'sort -o victim in',
    'sort --outp=victim in',
    'sort in --output victim',
    "sed -n '1w pwn' in",
    "sed '1e touch pwn' in",
    'sed --in-pl s/a/b/ in',
    'sed -i s/precious/gone/ victim',
    `awk 'BEGIN{system("touch pwn")}'`,
    `awk 'BEGIN{print > "pwn"}'`,
    'file -C -m m',
    'tar cf /dev/null in --checkpoint=1 --checkpoint-action=exec=./x',
    'history -w pwn',
    'hash -p ./x ls; ls',
    "trap 'touch pwn' EXIT",
    'ls |& tee pwn',
    'ls\ntouch pwn',
    'ls & touch pwn',
    'ls; touch pwn',
    'ls || touch pwn; ls && touch pwn',
    'ls > pwn',
    'ls >pwn 2>&1',
    'ls &> pwn',
    'ls >| victim',
    'ls >(tee pwn)',
    'ls $(touch pwn)',
    'ls "`touch pwn`"',
    `ls $\{x:-$(touch pwn)}`,
    'ls $((a[$(touch pwn)]))',
    'cat <<E\n$(touch pwn)\nE',
    'cat <<< "$(touch pwn)"',
    'rg --pre ./x precious',
    'rg --pre=./x precious',
    'rg --hostname-bin ./x --hyperlink-format default precious',
    'RIPGREP_CONFIG_PATH=./.rgrc rg precious',
    'BASH_ENV=./e bash -c ls',
    'PATH=.:$PATH ls',
    'env PATH=. ls',
    'NODE_OPTIONS=--require=./x.js node -v',
    'node -r ./x.js -e 0',
    'npm test',
    'command ./x',
    './ls',
    "test -v 'a[$(touch pwn)]'",
    "[[ 'a[$(touch pwn)]' -eq 0 ]]",
    "printf -v 'a[$(touch pwn)]' x",
    "let 'a[$(touch pwn)]=1'",
    "declare 'a[$(touch pwn)]=1'",
    'ls() { touch pwn; }; ls',
    'alias ls="touch pwn"; ls',
    'shopt -s expand_aliases; alias ls="touch pwn"\nls',
    'enable -f ./x ls; ls',
    'source e',
    '. ./e',
    'exec ./x',
    'eval touch pwn',
    'xargs -a in touch pwn',
    'echo pwn | xargs touch',
    'sh -c "touch pwn"',
    'echo touch pwn | sh',
    'coproc touch pwn',
    'time touch pwn',
    '! touch pwn',
    '(touch pwn)',
    '{ touch pwn; }',
    'if touch pwn; then ls; fi',
    'cd sub && touch pwn',
    'cd sub; ./ls',
    'date -s 2001-01-01',
    'diff --to-file=victim in -l',
    'cp in victim',
    'tee victim',
    'ls\0; touch pwn',
    'ls\r\ntouch pwn',
    'ls\u2028touch pwn',
    'ls\u00a0; touch pwn',
    `ls ${'; ls'.repeat(300)}; touch pwn`,
    `ls ${'x'.repeat(12_000)}; touch pwn`,
  ])('has no effect: %j [A01] [A03] [A07] [A12] [pain 10] [pain 11]', async (command) => {
    const result = await attempt(command);
    expect(result.ok).toBe(false);
    expectNoEffect();
  });

  it.each([
    ['ls -la', 'victim'],
    ["find . -name '-delete'", './-delete'],
    ['cat in | sort | uniq -c | head -1', '1 a'],
    ['sort in && wc -l victim', '1 victim'],
    ['cd sub && ls', 'ls'],
    ["echo 'a > pwn; $(touch pwn)'", 'a > pwn; $(touch pwn)'],
  ])('and is so runs: %s', async (command, output) => {
    const result = await attempt(command, { PATH: `${root}:.:sub:${process.env.PATH}` });
    expect([result.ok, result.output]).toEqual([true, expect.stringContaining(output)]);
    expectNoEffect();
  });

  it('runs no helper that the environment names for rg [A18]', async () => {
    await attempt('rg precious', { RIPGREP_CONFIG_PATH: join(root, '.rgrc') });
    await attempt('cat victim | rg precious', { RIPGREP_CONFIG_PATH: join(root, '.rgrc') });
    expectNoEffect();
  });
});

describe('git in a repository of an attacker', () => {
  let repository: string;
  const git = (args: readonly string[], input = '') => {
    const made = spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd: repository,
      input,
      encoding: 'utf8',
    });
    expect([args, made.status, made.stderr]).toEqual([args, 0, made.stderr]);
    return made.stdout.trim();
  };

  beforeAll(() => {
    repository = mkdtempSync(join(tmpdir(), 'bypass-git-'));
    git(['init', '-q']);
    git(['commit', '-q', '--allow-empty', '-m', 'one']);
    // With a signature, which git has checked by a program.
    const [head = '', text = ''] = git(['cat-file', 'commit', 'HEAD']).split('\n\n');
    const signature = 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----';
    const signed = git(['hash-object', '-t', 'commit', '-w', '--stdin'], `${head}\n${signature}\n\n${text}\n`);
    git(['update-ref', 'HEAD', signed]);
  });
  afterAll(() => rmSync(repository, { recursive: true, force: true }));

  beforeEach(() => {
    cpSync(join(repository, '.git'), join(root, '.git'), { recursive: true });
    spawnSync('git', ['add', 'in'], { cwd: root });
    const evil = join(root, 'x');
    const config = [
      `[core]\nrepositoryformatversion = 1\nfsmonitor = "./x; :"\npager = ./x\nhooksPath = .`,
      '[diff]\nexternal = ./x\n[diff "e"]\ntextconv = ./x\ncommand = ./x\n[filter "e"]\nclean = ./x\n[alias]\nst = !./x',
      `[gpg]\nprogram = ${evil}\n[log]\nshowSignature = true\n[format]\npretty = "%G?"\n[pretty]\nmine = "%G?"`,
      `[extensions]\npartialClone = origin\n[remote "origin"]\npromisor = true\nurl = ${join(root, 'sub')}\nuploadpack = ${evil}`,
      '[protocol "ext"]\nallow = always\n[remote "other"]\nurl = "ext::./x"',
    ];
    write('.git/config', `${config.join('\n')}\n`);
    write('.gitattributes', '* diff=e filter=e\n');
    write('.git/refs/heads/missing', `${'1'.repeat(40)}\n`);
  });

  it.each([
    'git log; :',
    'git status',
    'git log missing; :',
    "git rev-parse 'missing^{tree}'; :",
    'cd sub && git status',
  ])('can harm: %s', async (command) => {
    const made = spawnSync('bash', ['-c', command], { cwd: root, encoding: 'utf8' });
    expect([made.error, existsSync(join(root, 'pwn'))]).toEqual([undefined, true]);
  });

  it.each([
    'git status',
    'git diff',
    'git ls-files',
    'git st',
    'git show',
    'git log -p',
    'git log --ext-diff -p',
    'git log --output=pwn',
    'git log --pretty=mine',
    "git log '--format=%G?'",
    'git log --show-signature',
    'git grep -O./x a',
    'git fetch other',
    'git fetch origin',
    'git -c core.fsmonitor=./x status',
    'git -c alias.log=!./x log',
    'git -c alias.z=!./x z',
    'GIT_EXTERNAL_DIFF=./x git diff',
    'cd sub && git status',
    'git rebase -x ./x HEAD',
    'git bisect run ./x',
  ])('is not let run: %s [A10]', async (command) => {
    expect((await attempt(command)).ok).toBe(false);
    expectNoEffect();
  });

  it.each([
    ['git log', true],
    ['git log --stat -- in', true],
    ['git --no-pager log --oneline -5 | head -1', true],
    ['cd sub && git log --name-only', true],
    ['git rev-parse HEAD', true],
    ['git log missing', false],
    ["git rev-parse 'missing^{tree}'", false],
  ])('runs nothing of it: %s', async (command, ok) => {
    const result = await attempt(command);
    expect([result.ran, result.ok]).toEqual([true, ok]);
    expectNoEffect();
  });
});
