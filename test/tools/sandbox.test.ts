import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openSandbox } from '../../src/tools/shell/sandbox.js';
import { sandboxNeeded } from '../fixtures/sandbox-needed.js';
import { tempFolder } from './bench.js';
import { git, IDENTITY, sandboxBench } from './sandbox-bench.js';

beforeAll(sandboxNeeded);

let seed = '';

/** A repository with a submodule, a worktree, hooks, settings and links; made once, since git takes its time. */
beforeAll(() => {
  seed = realpathSync(mkdtempSync(join(tmpdir(), 'chatcli-seed-')));
  const [root, origin] = [join(seed, 'w'), join(seed, 'origin')];
  for (const folder of [root, origin]) {
    mkdirSync(folder);
    git(folder, 'init', '-q', '--template=');
    git(folder, 'commit', '-q', '--allow-empty', '-m', 'zero');
  }
  mkdirSync(join(root, '.git/info'));
  writeFileSync(join(root, '.git/info/exclude'), '*.log\ndeep/\n');
  git(root, 'submodule', '--quiet', 'add', '../origin', 'sub');
  writeFileSync(join(root, 'a.txt'), 'a\n');
  git(root, 'add', '-A');
  git(root, 'commit', '-q', '-m', 'first');
  git(root, 'worktree', 'add', '-q', join(seed, 'tree'));
  mkdirSync(join(root, '.git/hooks'));
  writeFileSync(join(root, '.git/hooks/pre-commit'), '#!/bin/sh\n', { mode: 0o755 });
  symlinkSync('../outside/f', join(root, 'link'));
  symlinkSync('../outside', join(root, 'linked'));
  mkdirSync(join(root, '.vscode'));
  writeFileSync(join(root, '.vscode/settings.json'), '{}\n');
  symlinkSync('settings', join(root, '.idea'));
  git(root, 'init', '-q', '--template=', 'deep/own');
  git(root, 'init', '-q', '--bare', '--template=', 'deep/bare');
  for (const name of ['deep/pack/.vscode', 'deep/pack/.husky', 'deep/own/.git/hooks'])
    mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, 'deep/pack/.vscode/tasks.json'), '{}\n');
  writeFileSync(join(root, 'deep/pack/.envrc'), 'true\n');
  return () => rmSync(seed, { recursive: true, force: true });
});

function repository(folder: string): void {
  cpSync(join(seed, 'w'), join(folder, 'w'), { recursive: true, verbatimSymlinks: true });
}

const AS_IT_WAS: readonly (readonly [what: string, command: string])[] = [
  ['the system', 'echo x > /etc/chatcli-pwn; echo x >> /etc/hosts; touch /usr/bin/pwn /var/pwn'],
  [
    'the home',
    'echo x > ~/notes; rm -rf ~/.gitconfig; touch ~/.bashrc; mkdir -p ~/.ssh; echo k > ~/.ssh/authorized_keys',
  ],
  ['a neighbour of the workspace', 'echo x > ../outside/f; rm -rf ../outside; touch ../made'],
  ['the file behind a link', 'echo x > link; echo y >> linked/f; cp a.txt linked/new'],
  ['a file moved over a link', 'cp a.txt linked/f; mv a2 linked/ 2>&1; ln -f a.txt linked/h'],
  ['temporary files of others', 'echo x > /tmp/pwn; echo x > /var/tmp/pwn; echo x > /run/pwn'],
  [
    'the configuration of git',
    'echo x > .git/config; git config core.fsmonitor "touch pwn"; rm -f .git/config; mv b .git/config',
  ],
  ['hooks', 'echo x > .git/hooks/pre-commit; touch .git/hooks/post-commit; rm -rf .git/hooks; mv .git/hooks .git/h'],
  [
    'the whole of .git',
    'mv .git x && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit; rm -rf .git/config .git/hooks',
  ],
  ['attributes and excludes', 'echo "* filter=x" > .git/info/attributes; rm -rf .git/info'],
  ['where git looks', 'echo ../evil > .git/commondir; echo x > .git/config.worktree; rm -f .git/commondir'],
  [
    'submodules',
    'echo x > .git/modules/sub/config; mv .git/modules/sub/config c; ren .git/modules m; ren .git/modules/sub .git/modules/s; touch .git/modules/sub/hooks/post-checkout; echo ../e > .git/modules/sub/commondir',
  ],
  [
    'worktrees',
    'echo x > .git/worktrees/tree/commondir; echo /x > .git/worktrees/tree/gitdir; ren .git/worktrees w; ren .git/worktrees/tree .git/worktrees/t',
  ],
  [
    'settings that are there',
    'echo x > .vscode/settings.json; touch .vscode/tasks.json; mv .vscode v; rm -rf .vscode; ln -sfn /tmp .vscode',
  ],
  [
    'settings that are not there',
    'mkdir -p .chatcli .claude .agents .husky; for f in .chatcli/settings.json .claude/settings.json .mcp.json .envrc .npmrc .husky/pre-commit; do echo x > $f; done',
  ],
  [
    'their names in another way',
    'mv a.txt .mcp.json; mkdir d; mv -T d .chatcli; ln -s /tmp .claude; rmdir .chatcli; rm -rf .agents; ln a.txt .envrc',
  ],
  [
    'where a submodule has its repository',
    'echo "gitdir: ../evil" > sub/.git; rm -f sub/.git; mv sub/.git c; mkdir -p sub/.git; ren sub m',
  ],
  [
    'a repository in the repository',
    'for r in deep/own/.git deep/bare; do echo x >> $r/config; mkdir -p $r/hooks; touch $r/hooks/pre-commit; ren $r/config c; echo ../e > $r/commondir; ren $r $r.x; done; ren deep/own deep/o; ren deep d',
  ],
  [
    'settings of a part',
    'echo x > deep/pack/.vscode/tasks.json; touch deep/pack/.husky/pre-commit; echo x > deep/pack/.envrc; ren deep/pack/.vscode d; rm -rf deep/pack/.husky; ren deep/pack d; ren deep d',
  ],
  ['a link with such a name', 'rm .idea; mkdir .idea; echo x > .idea/workspace.xml'],
  [
    'mounts',
    'mount -t tmpfs t .git; mount -o remount,rw /; mount -o remount,rw,bind .git/config; umount .git/config; umount -l .git',
  ],
  [
    'the view of another process',
    'for p in /proc/[0-9]*; do echo x > $p/root/etc/chatcli-pwn; echo x > $p/cwd/../outside/f; done',
  ],
  [
    'what a further sandbox would open',
    `unshare -rm sh -c 'umount -l .git/config; echo x > .git/config'; bwrap --bind / / sh -c 'echo x > .git/config'`,
  ],
  ['the workspace itself', 'cd ..; mv w v; rm -rf w/.git/hooks; rmdir w; ln -sn /etc w.new; ren w.new w'],
];

describe('a command in the sandbox', () => {
  it.each(AS_IT_WAS)('leaves %s as it was [A34]', async (_what, command) => {
    const { run, disk, root } = await sandboxBench({ prepare: repository });
    const before = disk();
    // A `mv` that may not rename copies what it may, and removes what it copied.
    await run(`ren() { node -e 'fs.renameSync(...process.argv.slice(1))' -- "$@"; }; ${command}`);
    for (const made of ['c', 'd', 'x', 'v', 'm', 'w', 'pwn'])
      rmSync(join(root, made), { recursive: true, force: true });
    if (!existsSync(join(root, 'a.txt'))) writeFileSync(join(root, 'a.txt'), 'a\n');
    expect(disk()).toEqual(before);
    expect(['/etc/chatcli-pwn', '/tmp/pwn', '/var/tmp/pwn', '/run/pwn'].filter((path) => existsSync(path))).toEqual([]);
  });

  it('changes what it likes of the rest of the workspace', async () => {
    const { run, root } = await sandboxBench({ prepare: repository });
    const { output } = await run(
      'echo b > b.txt && mkdir -p src/.hidden && mv a.txt src/ && echo c > src/.hidden/c && ls -A src',
    );
    expect(output).toBe('.hidden\na.txt\n(cwd: .)\nexit code 0');
    expect(readFileSync(join(root, 'src/.hidden/c'), 'utf8')).toBe('c\n');
  });

  it('has no rights beyond its user, and none to be had', async () => {
    const { run } = await sandboxBench();
    const { output } = await run(
      "grep -E '^Cap(Eff|Prm|Bnd|Amb)|^NoNewPrivs' /proc/self/status | tr -d '\\t'; unshare -r true 2>/dev/null || echo no namespace",
    );
    const none = '0'.repeat(16);
    expect(output.split('\n').slice(0, 6)).toEqual([
      `CapPrm:${none}`,
      `CapEff:${none}`,
      `CapBnd:${none}`,
      `CapAmb:${none}`,
      'NoNewPrivs:1',
      'no namespace',
    ]);
  });

  it.each([
    ['the home', 'home/.ssh/id_ed25519', 'cat ~/.ssh/id_ed25519 HOME/.ssh/id_ed25519'],
    ['our own settings', 'home/.config/chatcli/.env', 'cat ~/.config/chatcli/.env'],
    ['a secret file of the workspace', 'w/.env', 'cat .env; cp .env x; cat x; dd if=.env; mv .env e; cat e'],
    ['one that lies deep', 'w/a/b/.env.local', 'cat a/b/.env.local; mv a/b c; cat c/.env.local; grep -r k3y .'],
    ['a folder of keys', 'w/.aws/credentials', 'cat .aws/credentials; ls .aws'],
    ['keys of tools that can be used', 'home/.cargo/credentials.toml', 'cat ~/.cargo/credentials.toml'],
  ])('can not read %s', async (_what, file, command) => {
    const { run, home } = await sandboxBench({ files: { [file]: 'k3y-in-a-file\n', 'home/.cargo/config.toml': '' } });
    const { output } = await run(command.replaceAll('HOME', home));
    expect(output).not.toContain('k3y');
  });

  it('can not see other processes', async () => {
    const { run } = await sandboxBench();
    const { output } = await run('ls -d /proc/[0-9]* | wc -l; cat /proc/*/environ | tr "\\0" "\\n" | grep -c VITEST');
    const [count, environments] = output.split('\n').map(Number);
    expect([count !== undefined && count < 10, environments]).toEqual([true, 0]);
  });

  it('reads what the user names although it is hidden', async () => {
    const files = { 'w/.env': 'A=1\n', 'home/data/x': 'data\n', 'home/other': 'other\n' };
    const { run } = await sandboxBench({ files, readable: ['w/.env', 'home/data'] });
    expect(
      (await run('cat .env ~/data/x ~/other; echo x > .env; echo x > ~/data/x')).output.split('\n').slice(0, 2),
    ).toEqual(['A=1', 'data']);
  });

  it('reads the whole of an output that was cut', async () => {
    const { run } = await sandboxBench();
    const first = await run('seq 1 20000');
    const file = /whole output, [\d,]+ bytes: (\S+?)\]/.exec(first.output)?.[1];
    expect((await run(`tail -n 1 ${file}; echo x >> ${file}`)).output).toMatch(/^20000\n/);
  });

  it.each([
    ['no network', false, 0],
    ['the network where the user lets it', true, 1],
  ])('has %s', async (_what, network, expected) => {
    const server = createServer((socket) => socket.end('hello\n'));
    let connections = 0;
    server.on('connection', () => connections++);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const { run, root } = await sandboxBench({ network });
    await run(`exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3 > got`);
    expect([connections, existsSync(join(root, 'got'))]).toEqual([expected, expected === 1]);
  });

  it.each([
    ['a program of the home', 'home/.local/bin/mytool', 'FOLDER/home/.local/bin:'],
    ['one of a folder on the PATH there, with its library', 'home/tools/bin/mytool', 'FOLDER/home/tools/bin:'],
  ])('can use %s', async (_what, file, path) => {
    const library = join(file, '../../lib/text');
    const { run } = await sandboxBench({
      files: {
        [file]: `#!/bin/sh\ncat "$(dirname "$0")/../lib/text"\n`,
        [library]: 'from the library\n',
        'home/tools/secret': 'k3y\n',
      },
      path: `${path}${process.env.PATH}`,
      prepare: (folder) => chmodSync(join(folder, file), 0o755),
    });
    expect((await run('mytool; cat ~/tools/secret')).output).toMatch(/^from the library\n/);
    expect((await run('cat ~/tools/secret')).output).not.toContain('k3y');
  });

  it('has places of its own for temporary files, in the home too', async () => {
    const { run } = await sandboxBench();
    const { output } = await run(
      'f=$(mktemp) && echo a > $f && mkdir -p ~/.cache/x && echo b > ~/.cache/x/y && cat $f ~/.cache/x/y && echo $TMPDIR',
    );
    expect(output).toBe('a\nb\n/tmp\n(cwd: .)\nexit code 0');
  });

  it('starts in the folder that it was given', async () => {
    const { run, root } = await sandboxBench({ files: { 'w/in/side/x': '' } });
    expect((await run('pwd; ls', { cwd: 'in/side' })).output).toBe(
      `${join(root, 'in/side')}\nx\n(cwd: in/side)\nexit code 0`,
    );
  });

  it.each([
    ['an exit code', 'exit 7', {}, 'exit code 7'],
    ['a signal of the command', 'kill -TERM $$', {}, 'exit code 143 (as after signal SIGTERM)'],
    ['a program that is not there', 'no-such-program', {}, 'exit code 127'],
    ['a time limit', 'echo so far; sleep 300', { timeout_ms: 500 }, 'timed out after 0.5 s (killed)'],
    [
      'one with children in the background',
      'sleep 300 & setsid sleep 300 & sleep 300',
      { timeout_ms: 500 },
      'timed out after 0.5 s (killed)',
    ],
    [
      'one that TERM does not move',
      "trap '' TERM; sleep 300 & sleep 300; sleep 300",
      { timeout_ms: 500 },
      'timed out after 0.5 s (killed)',
    ],
    ['what goes on in the background', 'sleep 300 & setsid sleep 300 & disown -a; echo done', {}, 'exit code 0'],
  ])('ends with %s, and nothing of it lives on', async (_what, command, more, status) => {
    const { run, home } = await sandboxBench();
    const { output } = await run(command, more);
    expect(output.split('\n').at(-1)).toBe(status);
    expect(output).not.toContain('could not be stopped');
    expect(processesWith(`HOME=${home}`)).toEqual([]);
  });
});

describe('git in the sandbox', () => {
  it('commits, branches and stashes, and takes nothing in that only stands for something', async () => {
    const { run, root } = await sandboxBench({ prepare: repository });
    const { output } = await run(
      'echo b > b.txt && git add -A && git commit -q -m second && git checkout -q -b other && echo c > c.txt && git stash -q -u && git stash pop -q >/dev/null && git status --short && git log --format=%s%an',
    );
    expect(output).toBe('?? c.txt\nsecondN\nfirstN\nzeroN\n(cwd: .)\nexit code 0');
    expect(git(root, 'show', '--stat', '--format=', 'HEAD')).toContain('b.txt');
    expect(
      git(root, 'ls-tree', '--name-only', 'HEAD')
        .split('\n')
        .filter((name) => name.startsWith('.')),
    ).toEqual(['.gitmodules', '.idea', '.vscode']);
  });

  it('commits in a worktree whose repository is elsewhere, and leaves the configuration there as it was', async () => {
    const { run, disk, folder, notices } = await sandboxBench({
      prepare: (folder) => {
        mkdirSync(join(folder, 'main'));
        git(join(folder, 'main'), 'init', '-q');
        git(join(folder, 'main'), 'commit', '-q', '--allow-empty', '-m', 'first');
        rmSync(join(folder, 'w'), { recursive: true });
        git(join(folder, 'main'), 'worktree', 'add', '-q', join(folder, 'w'));
      },
    });
    const before = disk();
    const { output } = await run('git commit -q --allow-empty -m second && git log --format=%s');
    expect([notices, output]).toEqual([[], 'second\nfirst\n(cwd: .)\nexit code 0']);
    await run(
      `cd ${folder}/main; echo x > .git/config; echo x > .git/hooks/pre-commit; mv .git g; touch new; git config a.b c; cd ${folder}/w; rm -f .git; echo "gitdir: /tmp" > .git`,
    );
    expect(disk()).toEqual(before);
  });

  it('commits in a bare repository that is the workspace, and leaves what runs programs there as it was', async () => {
    const { run, root } = await sandboxBench({
      prepare: (folder) => git(join(folder, 'w'), 'init', '-q', '--bare', '--template='),
    });
    const before = readFileSync(join(root, 'config'), 'utf8');
    const { output } = await run(
      'echo x >> config; mkdir hooks; touch hooks/post-update; mv config c; mv hooks h; git update-ref refs/heads/x $(git commit-tree -m x $(git write-tree))',
    );
    expect(output).toMatch(/exit code 0$/);
    expect(git(root, 'log', '--format=%s', 'x')).toBe('x\n');
    expect(readFileSync(join(root, 'config'), 'utf8')).toBe(before);
    expect(existsSync(join(root, 'hooks'))).toBe(false);
  });

  it('can not make a bare repository of a folder that is in none', async () => {
    const { run, root } = await sandboxBench();
    await run(
      'mkdir -p objects refs; echo "ref: refs/heads/x" > HEAD; printf "[core]\n\tfsmonitor = touch pwn;:\n" > config',
    );
    expect(existsSync(join(root, 'HEAD'))).toBe(false);
  });

  it('says where it can not commit, and does not open a folder that only a file names', async () => {
    const { run, disk, folder, notices } = await sandboxBench({
      prepare: (folder) => {
        mkdirSync(join(folder, 'victim'));
        git(join(folder, 'victim'), 'init', '-q');
        writeFileSync(join(folder, 'w/.git'), `gitdir: ${join(folder, 'victim/.git')}\n`);
      },
    });
    const before = disk();
    await run('git commit -q --allow-empty -m x; touch ../victim/.git/refs/heads/x');
    expect(disk()).toEqual(before);
    expect(existsSync(join(folder, 'victim/.git/refs/heads/x'))).toBe(false);
    expect(notices).toEqual([expect.stringContaining("git can't commit in the sandbox")]);
  });
});

describe('what stands for a path that is missing', () => {
  it('is there while a command runs, and for others as long as one of them runs', async () => {
    const { run, root, disk } = await sandboxBench({ files: { 'home/.gitconfig': IDENTITY } });
    const before = disk();
    const long = run(
      'touch started; while [ ! -e go ]; do sleep 0.02; done; echo x > .mcp.json; mkdir .chatcli/x; rmdir .chatcli',
    );
    await until(() => existsSync(join(root, 'started')));
    await Promise.all([run('true'), run('exit 3'), run('sleep 300', { timeout_ms: 200 })]);
    expect([existsSync(join(root, '.chatcli')), existsSync(join(root, '.mcp.json'))]).toEqual([true, true]);
    writeFileSync(join(root, 'go'), '');
    await long;
    for (const name of ['started', 'go']) rmSync(join(root, name));
    expect(disk()).toEqual(before);
  });

  it('stays where somebody else has put something into it', async () => {
    const { run, root } = await sandboxBench();
    const running = run('touch started; while [ ! -e go ]; do sleep 0.02; done');
    await until(() => existsSync(join(root, 'started')));
    writeFileSync(join(root, '.vscode/settings.json'), '{}');
    writeFileSync(join(root, 'go'), '');
    await running;
    expect([existsSync(join(root, '.vscode/settings.json')), existsSync(join(root, '.chatcli'))]).toEqual([
      true,
      false,
    ]);
  });
});

describe('a sandbox that can not be made ready', () => {
  it('runs nothing, and takes away what it began with', async () => {
    const { run, root, settings } = await sandboxBench();
    // Where the lists for git would be written there is no room for them.
    git(root, 'init', '-q');
    const state = join(settings, 'state');
    rmSync(state, { recursive: true });
    writeFileSync(state, '');
    await expect(run('touch pwned')).rejects.toThrow('The sandbox could not be made ready, so the command did not run');
    expect(readdirSync(root)).toEqual(['.git']);
  });
});

describe('opening a sandbox', () => {
  const open = (root: string, home: string, programs?: readonly string[]) =>
    openSandbox({
      roots: [root],
      childEnvironment: { PATH: process.env.PATH ?? '', HOME: home },
      ownFolders: [],
      stateFolder: join(home, 'state'),
      network: false,
      readable: [],
      spools: () => [],
      ...(programs && { programs }),
    });

  it('says how to install the program where there is none', async () => {
    const folder = await tempFolder();
    expect(await open(folder, '/nonexistent', ['/no/such/bwrap'])).toEqual({
      sandbox: undefined,
      file: undefined,
      problem: 'bubblewrap is not installed',
      hint: expect.stringContaining('apt-get install bubblewrap'),
    });
  });

  it.each([
    ['a system that forbids it', 'bwrap: Creating new namespace failed: Operation not permitted', 'User namespaces'],
    ['a version that is too old', 'bwrap: Unknown option --disable-userns', 'Version 0.8'],
  ])('tells %s from one without the program', async (_what, message, hint) => {
    const folder = await tempFolder();
    const program = join(folder, 'bwrap');
    writeFileSync(program, `#!/bin/sh\necho '${message}' >&2\nexit 1\n`, { mode: 0o755 });
    expect(await open(folder, '/nonexistent', [program])).toMatchObject({
      sandbox: undefined,
      problem: `bubblewrap does not work here: ${message}`,
      hint: expect.stringContaining(hint),
    });
  });

  it('is refused where the workspace holds the home folder', async () => {
    const folder = await tempFolder();
    mkdirSync(join(folder, 'home'));
    for (const [root, home] of [
      [folder, join(folder, 'home')],
      [folder, folder],
    ] as const) {
      expect(await open(root, home)).toMatchObject({
        sandbox: undefined,
        problem: expect.stringContaining('holds the home folder'),
      });
    }
  });

  it('names the files that have a further name outside, and no others', async () => {
    const { notices } = await sandboxBench({
      files: { 'w/both': 'x', 'w/out': 'y' },
      prepare: (folder) => {
        linkSync(join(folder, 'w/both'), join(folder, 'w/twice'));
        linkSync(join(folder, 'w/out'), join(folder, 'outside/in'));
      },
    });
    expect(notices).toEqual([expect.stringMatching(/hard links.*: \S+\/w\/out\.$/)]);
  });
});

function processesWith(entry: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(entry);
    } catch {
      return false; // Not a process, or gone.
    }
  });
}

async function until(condition: () => boolean): Promise<void> {
  for (let left = 1_000; left > 0 && !condition(); left--) await sleep(10);
  expect(condition()).toBe(true);
}
