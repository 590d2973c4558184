import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { calls, says } from '../fixtures/model-server.js';
import { sandboxNeeded } from '../fixtures/sandbox-needed.js';
import { makePlace, type Place } from './place.js';
import { jsonOf, lastResult } from './reading.js';
import { type PlayOptions, play, serve, start, until } from './support.js';

beforeAll(sandboxNeeded);

const FULL_AUTO = ['--approval-mode', 'full-auto'];
const JSON_ = ['--output-format', 'json'];

const run = (command: string, flags: readonly string[], options: PlayOptions = {}) =>
  play([calls('shell', { command }), says('done')], ['coder', 'x', ...JSON_, ...flags], options);

function repository(): Place {
  const place = makePlace({ 'a.txt': 'a\n' });
  const env = { ...place.env, GIT_CONFIG_NOSYSTEM: '1' };
  writeFileSync(join(place.home, '.gitconfig'), '[user]\n\tname = N\n\temail = n@example.com\n');
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
    ['commit', '-q', '-m', 'first'],
  ])
    execFileSync('git', args, { cwd: place.root, env });
  return place;
}

const names = (place: Place) => readdirSync(place.root).toSorted();

/** Runs chatcli where bubblewrap can't be started: under its name there is a file that is no program. */
function withoutBubblewrap(args: readonly string[], place = makePlace()) {
  const hide = ['/usr/bin/bwrap', '/usr/local/bin/bwrap'].map(
    (file) => `[ ! -e ${file} ] || mount --bind /dev/null ${file}`,
  );
  const line = `exec unshare -rm sh -c '${hide.join(' && ')} && exec chatcli "$@"' sh ${args.map((arg) => `'${arg}'`).join(' ')}`;
  return play([calls('shell', { command: 'touch pwned' }), says('done')], line, { place });
}

describe('full-auto', () => {
  it('runs commands unasked in a sandbox: the workspace changes, the rest of the machine does not [A34] [A36]', async () => {
    const server = createServer((socket) => socket.end());
    let connections = 0;
    server.on('connection', () => connections++);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const place = repository();
    const config = place.read('.git/config');
    const hooks = readdirSync(join(place.root, '.git/hooks'));
    const ran = await run(
      [
        `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null; touch /etc/chatcli-pwn ~/pwn 2>/dev/null`,
        'echo x > .git/hooks/pre-commit; git config core.fsmonitor x; mv .git x && mkdir -p .git/hooks',
        'mkdir .chatcli; echo "{}" > .chatcli/settings.json; mount -t tmpfs t .git',
        'grep CapEff /proc/self/status; echo b > b.txt && git add -A && git commit -q -m second && git log --format=%s',
      ].join('\n'),
      FULL_AUTO,
      { place },
    );

    expect(lastResult(ran)).toContain(`CapEff:\t${'0'.repeat(16)}\nsecond\nfirst\n`);
    expect([ran.exitCode, connections, jsonOf(ran).permission_denials]).toEqual([0, 0, []]);
    expect([names(place), place.read('.git/config'), readdirSync(join(place.root, '.git/hooks'))]).toEqual([
      ['.git', 'a.txt', 'b.txt'],
      config,
      hooks,
    ]);
    expect([existsSync('/etc/chatcli-pwn'), existsSync(join(place.home, 'pwn'))]).toEqual([false, false]);
  });

  it('tells the model in short what holds inside, and of a failure that comes from it', async () => {
    const ran = await run('touch /etc/chatcli-pwn', FULL_AUTO);
    expect(JSON.stringify(ran.requests[0]?.body)).toContain(
      'Commands run in a sandbox: no network, only the workspace',
    );
    expect(lastResult(ran)).toMatch(/Read-only file system\n\[in the sandbox only the workspace can be written/);
  });

  it('reaches the network where the user lets it', async () => {
    const place = makePlace();
    const line = 'exec 3<>/dev/tcp/127.0.0.1/PORT && touch reached';
    const server = await serve([]);
    const command = line.replace('PORT', new URL(server.url).port);
    const reached: boolean[] = [];
    for (const flags of [[], ['--sandbox-network']]) {
      await run(command, [...FULL_AUTO, ...flags], { place });
      reached.push(place.has('reached'));
    }
    expect(reached).toEqual([false, true]);
  });

  it('is refused with exit 3 and without a request where there is no sandbox', async () => {
    const ran = await withoutBubblewrap(['coder', 'x', ...FULL_AUTO]);
    expect([ran.exitCode, ran.stdout, ran.requests, names(ran.place)]).toEqual([3, '', [], []]);
    expect(ran.stderr).toContain('The mode full-auto needs a sandbox, but bubblewrap is not installed.');
    expect(ran.stderr).toContain('apt-get install bubblewrap');
    expect(ran.stderr).toContain('--dangerously-skip-permissions');
  });

  it('runs without one only by --dangerously-skip-permissions', async () => {
    const ran = await withoutBubblewrap(['coder', 'x', ...FULL_AUTO, '--dangerously-skip-permissions']);
    expect([ran.exitCode, names(ran.place)]).toEqual([0, ['pwned']]);
  });
});

describe('--sandbox required', () => {
  it.each<[string, readonly string[], string]>([
    ['a command that a rule lets pass', ['--allowed-tools', 'shell(touch pwned)'], 'touch pwned'],
    ['one that only reads', [], 'ls'],
    ['one that nothing is asked about', ['--dangerously-skip-permissions'], 'touch pwned'],
  ])('keeps %s inside', async (_name, flags, command) => {
    const ran = await run(command, ['--sandbox', 'required', ...flags]);
    expect(JSON.stringify(ran.requests[0]?.body)).toContain('Commands run in a sandbox');
    expect(ran.exitCode).toBe(0);
  });

  it('hides the home from what an answer or a rule lets pass; auto does not', async () => {
    const place = makePlace();
    writeFileSync(join(place.home, 'notes'), 'mine\n');
    const rule = ['--allowed-tools', 'shell(sh script)'];
    place.write('script', 'cat ~/notes\n');
    const results: string[] = [];
    for (const setting of ['required', 'auto'])
      results.push(lastResult(await run('sh script', ['--sandbox', setting, ...rule], { place })).split('\n')[0] ?? '');
    expect(results).toEqual([expect.stringContaining('No such file'), 'mine']);
  });

  it.each<[string, readonly string[]]>([
    ['ask', []],
    ['auto-edit', ['--approval-mode', 'auto-edit']],
    ['full-auto', FULL_AUTO],
    ['without questions', ['--dangerously-skip-permissions']],
  ])('ends with exit 3 and without a request where there is none: %s [A38]', async (_name, flags) => {
    const ran = await withoutBubblewrap(['coder', 'x', '--sandbox', 'required', ...flags]);
    expect([ran.exitCode, ran.stdout, ran.requests, names(ran.place)]).toEqual([3, '', [], []]);
    expect(ran.stderr).toContain(
      'A sandbox is required (--sandbox, CHATCLI_SANDBOX), but bubblewrap is not installed.',
    );
  });

  it('can not be taken back by an env file', async () => {
    const place = makePlace();
    writeFileSync(
      join(place.settings, '.env'),
      'CHATCLI_SANDBOX=off\nCHATCLI_SANDBOX_NETWORK=1\nCHATCLI_SANDBOX_READ=/\n',
    );
    place.write('.env', 'CHATCLI_SANDBOX=off\n');
    const ran = await run('touch ~/pwn', [...FULL_AUTO, '--env-file', '.env'], { place });
    expect(JSON.stringify(ran.requests[0]?.body)).toContain('Commands run in a sandbox: no network');
    expect(existsSync(join(place.home, 'pwn'))).toBe(false);
  });
});

describe('a shell that is a link under the home folder', () => {
  it.each(['full-auto', 'auto-edit'])('starts in the sandbox as any other, in mode %s', async (mode) => {
    const place = makePlace();
    const bin = join(place.home, '.nix/bin');
    mkdirSync(bin, { recursive: true });
    symlinkSync('/usr/bin/bash', join(bin, 'bash'));
    const flags = ['--approval-mode', mode, '--sandbox', 'required', '--allowed-tools', 'shell(touch made; ls ~)'];
    const ran = await run('touch made; ls ~', flags, { place, env: { PATH: `${bin}:${place.env.PATH}` } });
    expect([ran.exitCode, place.has('made'), lastResult(ran)]).toEqual([
      0,
      true,
      expect.stringContaining('exit code 0'),
    ]);
  });

  it('starts by its own path, too', async () => {
    const place = makePlace();
    mkdirSync(join(place.home, 'mine'));
    symlinkSync('/usr/bin/bash', join(place.home, 'mine/bash'));
    const ran = await run('touch made', FULL_AUTO, { place, env: { CHATCLI_SHELL: join(place.home, 'mine/bash') } });
    expect([ran.exitCode, place.has('made')]).toEqual([0, true]);
  });
});

describe('after the end of a run', () => {
  it.each<[NodeJS.Signals, number | null]>([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ])('by %s nothing stands in the workspace that was not there', async (signal, exitCode) => {
    const place = makePlace();
    const server = await serve([calls('shell', { command: 'touch started; sleep 300 & setsid sleep 300' })]);
    const running = start(['coder', 'x', ...FULL_AUTO], { place, server });
    await until('the command runs', () => place.has('started'));
    running.kill(signal);
    const ended = await running.ended;
    expect([ended.exitCode, names(place)]).toEqual([exitCode, ['started']]);
  });

  it.each([
    ['in a sandbox', FULL_AUTO],
    ['without one', ['--approval-mode', 'read-only']],
  ])('that was killed, the next one %s takes away what it left [A36]', async (_how, flags) => {
    const place = makePlace();
    place.write('.git/info/exclude', 'x\n');
    const state = () => readdirSync(join(place.settings, 'state')).filter((name) => name.startsWith('sandbox-exclude'));
    const server = await serve([calls('shell', { command: 'touch started; sleep 300' })]);
    const running = start(['coder', 'x', ...FULL_AUTO], { place, server });
    // What no other run may leave is what this one leaves.
    running.ended.catch(() => undefined);
    await until('the command runs', () => place.has('started'));
    running.kill('SIGKILL');
    await running.ended.catch(() => undefined);
    expect([place.has('.mcp.json'), state().length]).toEqual([true, 1]);
    await run('true', flags, { place });
    expect([names(place), state()]).toEqual([['.git', 'started'], []]);
  });
});

describe.runIf(process.getuid?.() === 0)('an ordinary user', () => {
  it('has the same sandbox', async () => {
    const place = repository();
    const folder = dirname(place.root);
    for (const path of [
      folder,
      ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    ]) {
      if (!path.startsWith(join(folder, 'bin/'))) chownSync(path, 65_534, 65_534);
    }
    mkdirSync(join(folder, 'outside'));
    chmodSync(join(folder, 'outside'), 0o777);
    const command =
      'id -u; echo x > ../outside/f; echo x > ~/f; echo x > .git/config; mkdir .chatcli/x; echo b > b.txt && git add -A && git commit -q -m second && git log --format=%s';
    const line = `exec setpriv --reuid=65534 --regid=65534 --clear-groups chatcli coder x --approval-mode full-auto`;
    const ran = await play([calls('shell', { command }), says('done')], line, { place });
    expect(lastResult(ran)).toMatch(/^65534\n/);
    expect(lastResult(ran)).toContain('\nsecond\nfirst\n');
    expect([
      ran.exitCode,
      names(place),
      readdirSync(join(folder, 'outside')),
      existsSync(join(place.home, 'f')),
    ]).toEqual([0, ['.git', 'a.txt', 'b.txt'], [], false]);
    expect(readFileSync(join(place.root, '.git/config'), 'utf8')).toContain('[core]');
  });
});
