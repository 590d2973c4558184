import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { calls, says, type Turn } from '../fixtures/model-server.js';
import { makePlace, type Place, processesOf } from './place.js';
import { atTerminal, KEYS } from './pseudo-terminal.js';
import { jsonOf, lastResult } from './reading.js';
import { chatcli, inShell, type PlayOptions, play, type Run, serve, start, until } from './support.js';

const shell = (command: string) => calls('shell', { command });
const write = (path: string, content: string) => calls('write_file', { path, content });
const edit = (path: string, old_string: string, new_string: string) =>
  calls('edit_file', { path, old_string, new_string });
const read = (path: string) => calls('read_file', { path });

/** Runs the coder unasked; `always` are the commands that need a rule in every mode. */
const work = (place: Place, turns: readonly Turn[], always: readonly string[] = [], options: PlayOptions = {}) =>
  play(
    [...turns, says('done')],
    [
      ...['coder', 'change things', '--output-format', 'json', '--dangerously-skip-permissions'],
      ...always.flatMap((command) => ['--allowed-tools', `shell(${command})`]),
    ],
    { ...options, place },
  );

const undo = (place: Place, ...args: string[]): Promise<Run> => chatcli(['undo', ...args], { place });
const undoJson = async (place: Place, ...args: string[]) =>
  jsonOf(await undo(place, ...args, '--output-format', 'json'));

/** Every file, folder and link below the workspace: its mode and its content. */
function treeOf({ root }: Place, leaveOut = /^\.git(?:$|\/)/): Record<string, string> {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => !leaveOut.test(path));
  return Object.fromEntries(
    paths.toSorted().map((path) => {
      const stats = statSync(join(root, path));
      const mode = (stats.mode & 0o777).toString(8);
      return [path, stats.isFile() ? `${mode} ${readFileSync(join(root, path), 'base64')}` : `${mode} folder`];
    }),
  );
}

function git(place: Place, ...args: string[]): string {
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'init.defaultBranch=main'];
  return execFileSync('git', [...who, ...args], { cwd: place.root, encoding: 'utf8', env: place.env });
}

/** Everything in the undo store, in one text. */
function storeOf(place: Place): string {
  const folder = join(place.settings, 'state', 'projects');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => readFileSync(join(folder, path), 'latin1'))
    .join('\n');
}

const FILES = { 'a.txt': 'one\n', 'src/b.txt': 'two\n', 'src/deep/c.bin': Buffer.from([0, 255, 13, 10, 254]) };

describe('chatcli undo', () => {
  it('takes back what tools changed, created and removed, with modes and folders', async () => {
    const place = makePlace(FILES);
    chmodSync(join(place.root, 'a.txt'), 0o640);
    const before = treeOf(place);
    await work(place, [
      read('a.txt'),
      edit('a.txt', 'one', 'uno'),
      write('new/inner/d.txt', 'new\n'),
      edit('a.txt', 'uno', 'eins'),
      read('src/b.txt'),
      write('src/b.txt', 'zwei\n'),
    ]);
    expect(place.read('a.txt')).toBe('eins\n');

    const run = await undo(place, 'last');
    expect([run.exitCode, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toContain('Turn 1: 5 restored');
    expect(treeOf(place)).toEqual(before);
  });

  it.each([
    ['sed -i', 'sed -i s/one/uno/ a.txt', []],
    ['rm and mv', 'rm src/b.txt; mv a.txt moved.txt', []],
    ['rm -rf', 'rm -rf src', ['rm -rf src']],
    ['chmod', 'chmod 600 a.txt; chmod +x src/b.txt', []],
    ['a folder in place of a file', 'rm a.txt; mkdir a.txt; echo x > a.txt/x', []],
    ['a file in place of a folder', 'rm -r src; echo x > src', ['rm -r src; echo x > src']],
    ['an empty folder', 'mkdir -p empty/inner; rmdir nothing', []],
    ['a program', 'mkdir gen; for i in 1 2 3; do echo $i > gen/$i.txt; done; printf x >> a.txt', []],
  ])('takes back what a command did: %s', async (_, command, always) => {
    const place = makePlace(FILES);
    mkdirSync(join(place.root, 'nothing'));
    const before = treeOf(place);
    const run = await work(place, [shell(command)], always);
    expect(lastResult(run)).toMatch(/exit code 0$/);
    const after = treeOf(place);
    expect(after).not.toEqual(before);

    expect(await undo(place, 'last')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(treeOf(place)).toEqual(before);
    // And the undo can be undone.
    expect(await undo(place, '2')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(treeOf(place)).toEqual(after);
  });

  it.each(['git reset --hard', 'git checkout .', 'git clean -fdx', 'git stash'])(
    'brings back work that was never committed after %s, also untracked and ignored files [pain 12]',
    async (command) => {
      const place = makePlace({ ...FILES, '.gitignore': 'local.cfg\ndist/\n' });
      git(place, 'init', '-q');
      git(place, 'add', '.');
      git(place, 'commit', '-qm', 'first');
      place.write('a.txt', 'hours of work\n');
      place.write('untracked.txt', 'never added\n');
      place.write('local.cfg', 'precious\n');
      place.write('dist/out.js', 'built\n');
      const before = treeOf(place);
      const run = await work(place, [shell(command)], [command]);
      expect(lastResult(run)).toMatch(/exit code 0$/);
      expect(treeOf(place)).not.toEqual(before);

      expect(await undo(place, 'last')).toMatchObject({ exitCode: 0 });
      expect(treeOf(place)).toEqual(before);
    },
  );

  it('names the files that a command changed in the proof of the run', async () => {
    const place = makePlace(FILES);
    const run = await work(place, [shell('echo x >> a.txt; rm src/b.txt; echo n > new.txt')]);
    expect(jsonOf(run).proof.files_changed.toSorted()).toEqual(['a.txt', 'new.txt', 'src/b.txt']);
  });

  it('lists the turns, the newest first, shows one, and says nothing of runs that changed nothing', async () => {
    const place = makePlace(FILES);
    await work(place, [shell('ls')]);
    expect(await undo(place)).toMatchObject({
      exitCode: 0,
      stdout: 'Nothing to undo: no turn has changed files here.\n',
    });
    await work(place, [write('new.txt', 'x')]);
    await work(place, [shell('rm a.txt; echo >> src/b.txt')]);
    await undo(place, '1');

    const { turns } = await undoJson(place);
    expect(turns).toMatchObject([
      { number: 3, undoes: 1, files: { changed: 0, created: 0, deleted: 1 } },
      { number: 2, task: 'change things', files: { changed: 1, created: 0, deleted: 1 } },
      { number: 1, undone_by: 3, files: { changed: 0, created: 1, deleted: 0 } },
    ]);
    expect((await undo(place)).stdout).toMatch(
      /^3 {2}\S+ \S+ {2}~0 {2}\+0 {2}-1 {2}undo of turn 1: change things *\n2 {2}.*change things *\n1 .*\(undone by 3\)\n\n/,
    );
    expect((await undo(place, 'show', '2')).stdout).toMatch(
      /^Turn 2 of .*: change things\n[\s\S]*- a\.txt\n[\s\S]*Commands that changed files:\n {2}rm a\.txt; echo >> src\/b\.txt\n/,
    );
    // "last" is the last that was not taken back yet.
    await undo(place, 'last');
    expect([place.has('a.txt'), place.has('new.txt')]).toEqual([true, false]);
    expect(await undo(place, 'last')).toMatchObject({ exitCode: 2, stdout: '' });
  });

  it('says with --dry-run what it would do, and changes nothing', async () => {
    const place = makePlace(FILES);
    await work(place, [shell('printf "three\\nfour\\n" >> a.txt; rm src/b.txt; echo n > new.txt')]);
    const before = treeOf(place);
    const run = await undo(place, 'last', '--dry-run');

    expect(run.stdout.split('\n').toSorted()).toEqual(
      [
        '',
        'Turn 1: 3 would be restored.',
        'a.txt: would be restored, +0 -2 lines',
        'new.txt: would be removed (the turn had created it), +0 -1 lines',
        'src/b.txt: would be restored (it was gone), +1 -0 lines',
      ].toSorted(),
    );
    expect(treeOf(place)).toEqual(before);
    expect((await undoJson(place)).turns).toHaveLength(1);
  });

  it('refuses a turn that is not there, and words that it does not know', async () => {
    const place = makePlace();
    for (const words of [['7'], ['last'], ['all'], ['1', '2'], ['show', '1', '2']]) {
      expect(await undo(place, ...words)).toMatchObject({ exitCode: 2, stdout: '' });
    }
  });

  it('is off with CHATCLI_UNDO=off: nothing is copied', async () => {
    const place = makePlace(FILES);
    await work(place, [shell('rm a.txt')], [], { env: { CHATCLI_UNDO: 'off' } });
    expect(readdirSync(place.settings)).not.toContain('state');
    expect((await undo(place)).stdout).toContain('Nothing to undo');
  });
});

describe('what somebody else changed since', () => {
  const five = async (): Promise<Place> => {
    const place = makePlace({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n', 'gone.txt': 'gone\n' });
    await work(place, [
      ...['a', 'b', 'c'].flatMap((name) => [read(`${name}.txt`), edit(`${name}.txt`, name, `new ${name}`)]),
      write('made.txt', 'made\n'),
      shell('rm gone.txt'),
    ]);
    place.write('c.txt', 'the work of a person\n');
    return place;
  };

  it('is left alone and named without a terminal: four of five are restored, exit code 1 [A49]', async () => {
    const place = await five();
    const run = await undo(place, 'last', '--output-format', 'json');

    expect(run.exitCode).toBe(1);
    expect(jsonOf(run)).toMatchObject({
      conflicts: [{ path: join(place.root, 'c.txt'), reason: 'it was changed since' }],
      skipped: [],
    });
    expect(jsonOf(run).restored).toHaveLength(4);
    expect(['a', 'b', 'c', 'gone'].map((name) => place.read(`${name}.txt`))).toEqual([
      'a\n',
      'b\n',
      'the work of a person\n',
      'gone\n',
    ]);
    expect(place.has('made.txt')).toBe(false);
  });

  it('is restored over with --force, and that can be undone too', async () => {
    const place = await five();
    expect(await undo(place, 'last', '--force')).toMatchObject({ exitCode: 0 });
    expect(place.read('c.txt')).toBe('c\n');
    expect(await undo(place, '2')).toMatchObject({ exitCode: 0 });
    expect(place.read('c.txt')).toBe('the work of a person\n');
  });

  it.each([
    ['y', 'c\n', 0],
    ['n', 'the work of a person\n', 1],
  ])('is asked for at a terminal: %s [A49]', async (key, content, exitCode) => {
    const place = await five();
    const run = atTerminal(['undo', 'last'], { place });
    await until('it asks', () => run.screen().includes('c.txt: it was changed since. Restore it all the same? [y/N]'));
    run.type(`${key}${KEYS.enter}`);

    expect((await run.ended).exitCode).toBe(exitCode);
    expect([place.read('c.txt'), place.read('a.txt')]).toEqual([content, 'a\n']);
  });

  it('is named with the turn that did it', async () => {
    const place = makePlace(FILES);
    await work(place, [read('a.txt'), edit('a.txt', 'one', 'two')]);
    await work(place, [read('a.txt'), edit('a.txt', 'two', 'three')]);
    expect((await undo(place, '1')).stdout).toContain('a.txt: left as it is: it was changed since, by turn 2.');
    expect(place.read('a.txt')).toBe('three\n');
  });
});

describe('what undo does not touch', () => {
  it('is a path that a link was put in the way of: skipped and named, and nothing outside is written [A49]', async () => {
    const place = makePlace(FILES);
    const outside = join(place.root, '..', 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'b.txt'), 'not yours\n');
    await work(place, [
      read('src/b.txt'),
      edit('src/b.txt', 'two', 'zwei'),
      read('a.txt'),
      edit('a.txt', 'one', 'eins'),
      write('made/d.txt', 'd'),
    ]);
    rmSync(join(place.root, 'src'), { recursive: true });
    symlinkSync(outside, join(place.root, 'src'));
    rmSync(join(place.root, 'a.txt'));
    writeFileSync(join(outside, 'a.txt'), 'eins\n');
    symlinkSync(join(outside, 'a.txt'), join(place.root, 'a.txt'));
    rmSync(join(place.root, 'made'), { recursive: true });
    mkdirSync(join(outside, 'empty'));
    symlinkSync(join(outside, 'empty'), join(place.root, 'made'));

    const run = await undo(place, 'last', '--force', '--output-format', 'json');
    expect(run.exitCode).toBe(1);
    expect(
      jsonOf(run)
        .skipped.map(({ path }: { path: string }) => path)
        .toSorted(),
    ).toEqual(['a.txt', 'made/d.txt', 'src/b.txt'].map((path) => join(place.root, path)));
    expect(readFileSync(join(outside, 'b.txt'), 'utf8')).toBe('not yours\n');
    expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe('eins\n');
    expect(readdirSync(outside).toSorted()).toEqual(['a.txt', 'b.txt', 'empty']);
  });

  it('are links, hard links, pipes and large files that a command changed: named to the model and in the list', async () => {
    const place = makePlace({ ...FILES, big: '', twin: 'twin\n' });
    truncateSync(join(place.root, 'big'), 51_000_000);
    linkSync(join(place.root, 'twin'), join(place.root, 'twin2'));
    symlinkSync('a.txt', join(place.root, 'link'));
    execFileSync('mkfifo', [join(place.root, 'pipe')]);
    const run = await work(place, [shell('echo x >> twin; rm link pipe; echo x >> big; echo x >> a.txt')]);

    expect(lastResult(run)).toMatch(/Undo can't bring back what was changed here: .*and \d more\.\]/);
    expect(jsonOf(run).warnings.join('\n')).toMatch(/No copy of large files: big\.[\s\S]*hard links\): twin, twin2\./);
    const shown = (await undo(place, 'show', 'last')).stdout;
    for (const name of ['big', 'twin', 'twin2', 'link', 'pipe'])
      expect(shown).toMatch(new RegExp(`^[~-] ${name} \\(no copy`, 'm'));
    const result = await undoJson(place, 'last');
    expect(result.restored.map(({ path }: { path: string }) => path)).toEqual([join(place.root, 'a.txt')]);
    expect(result.skipped).toHaveLength(5);
    expect(place.read('twin')).toBe('twin\nx\n');
  });

  it('are secret files: not copied, not restored, and said so', async () => {
    const place = makePlace({ ...FILES, '.env': 'TOKEN=hunter2-canary\n', 'keys/id_rsa': 'PRIVATE-canary\n' });
    const touching = 'echo x >> keys/id_rsa; echo MORE-canary > .env.production; echo x >> a.txt';
    const run = await work(
      place,
      [read('.env'), edit('.env', 'TOKEN', 'TOKEN2'), write('.env.local', 'SECOND-canary=1'), shell(touching)],
      [touching],
      { env: {} },
    );
    expect(run.exitCode).toBeDefined();
    const store = storeOf(place);
    for (const secret of ['hunter2', 'PRIVATE-canary', 'SECOND-canary']) expect(store).not.toContain(secret);
    const result = await undoJson(place, 'last');
    expect(result.restored.map(({ path }: { path: string }) => path)).toEqual([join(place.root, 'a.txt')]);
    expect(result.skipped).toEqual(
      expect.arrayContaining([
        { path: join(place.root, 'keys/id_rsa'), reason: 'it holds secrets by its name, so no copy is kept' },
      ]),
    );
  });

  it('is readable by the user alone', async () => {
    const place = makePlace(FILES);
    await work(place, [shell('echo x >> a.txt')]);
    const folder = join(place.settings, 'state', 'projects');
    const open = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (path) => (statSync(join(folder, path)).mode & 0o077) !== 0,
    );
    expect([open, statSync(folder).mode & 0o077]).toEqual([[], 0]);
  });
});

describe('a hostile repository', () => {
  it('has none of its hooks, filters and monitors run by undo [A10]', async () => {
    const place = makePlace(FILES);
    git(place, 'init', '-q');
    const canary = join(place.root, '..', 'canary');
    const trap = join(place.root, '..', 'bin', 'trap.sh');
    writeFileSync(trap, `#!/bin/sh\necho "$0 $*" >> ${canary}\ncat\n`);
    chmodSync(trap, 0o755);
    git(place, 'config', 'core.fsmonitor', trap);
    for (const kind of ['clean', 'smudge', 'process']) git(place, 'config', `filter.trap.${kind}`, trap);
    place.write('.gitattributes', '* filter=trap\n');
    for (const hook of ['post-checkout', 'pre-commit', 'post-index-change']) {
      writeFileSync(join(place.root, '.git', 'hooks', hook), readFileSync(trap));
      chmodSync(join(place.root, '.git', 'hooks', hook), 0o755);
    }
    const before = treeOf(place);
    await work(place, [shell('echo x >> a.txt; rm src/b.txt')]);
    await undo(place);
    expect(await undo(place, 'last')).toMatchObject({ exitCode: 0 });
    expect(treeOf(place)).toEqual(before);
    expect(readdirSync(join(place.root, '..'))).not.toContain('canary');
  });
});

describe('a run that is killed', () => {
  it('in the middle of a command leaves a store from which the turn is taken back', async () => {
    const place = makePlace(FILES);
    const before = treeOf(place);
    const server = await serve([
      read('a.txt'),
      edit('a.txt', 'one', 'uno'),
      shell('rm -r src; echo new > made.txt; touch started; sleep 60'),
      says('done'),
    ]);
    const always = 'rm -r src; echo new > made.txt; touch started; sleep 60';
    const running = start(['coder', 'x', '--dangerously-skip-permissions', '--allowed-tools', `shell(${always})`], {
      place,
      server,
    });
    await until('the command has begun', () => place.has('started'));
    process.kill(running.pid, 'SIGKILL');
    await running.ended.catch(() => undefined);
    await until('it is gone', () => {
      for (const { pid } of processesOf(place)) process.kill(pid, 'SIGKILL');
      return processesOf(place).length === 0;
    });

    const first = await undoJson(place, 'last');
    expect(first.restored.map(({ path }: { path: string }) => path.slice(place.root.length + 1)).toSorted()).toEqual([
      'a.txt',
      'src',
      'src/b.txt',
      'src/deep',
      'src/deep/c.bin',
    ]);
    // What is there of it may be somebody's work since then.
    expect(first.conflicts).toHaveLength(2);
    expect(place.read('made.txt')).toBe('new\n');
    expect(await undo(place, '1', '--force')).toMatchObject({ exitCode: 0 });
    expect(treeOf(place)).toEqual(before);
  });

  it('between a write and its end leaves the old bytes or the new ones, and both can be undone', async () => {
    const place = makePlace(FILES);
    await work(place, [read('a.txt'), edit('a.txt', 'one', 'two')]);
    const turns = join(place.settings, 'state', 'projects');
    const [log] = readdirSync(turns, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.jsonl'));
    // As a crash leaves it: the end of the turn is not told, and a line was only begun.
    const lines = readFileSync(join(turns, log!), 'utf8').split('\n').slice(0, 2);
    writeFileSync(join(turns, log!), `${lines.join('\n')}\n{"type":"cha`);
    expect(await undo(place, 'last')).toMatchObject({ exitCode: 0 });
    expect(place.read('a.txt')).toBe('one\n');
  });
});

describe('several runs at once in one folder', () => {
  it('each have a turn of their own, and each can be taken back', async () => {
    const numbers = [1, 2, 3, 4];
    const place = makePlace(Object.fromEntries(numbers.map((n) => [`f${n}.txt`, `old ${n}\n`])));
    const before = treeOf(place);
    const servers = await Promise.all(
      numbers.map((n) =>
        serve([read(`f${n}.txt`), edit(`f${n}.txt`, 'old', 'new'), write(`n${n}.txt`, 'x'), shell('ls'), says('done')]),
      ),
    );
    const lines = servers.map(
      ({ url }) => `OPENAI_BASE_URL=${url} chatcli coder x --dangerously-skip-permissions >/dev/null 2>&1 &`,
    );
    const run = await inShell(`${lines.join('\n')}\nwait`, { place, server: servers[0] });
    expect(run.exitCode).toBe(0);
    for (const n of numbers) expect(place.read(`f${n}.txt`)).toBe(`new ${n}\n`);
    expect((await undoJson(place)).turns.map(({ number }: { number: number }) => number)).toEqual([4, 3, 2, 1]);
    for (const _ of numbers) expect(await undo(place, 'last')).toMatchObject({ exitCode: 0 });
    expect(treeOf(place)).toEqual(before);
  });
});

describe('a store that can not be written', () => {
  it('keeps no change from being made, and is said', async () => {
    const place = makePlace(FILES);
    writeFileSync(join(place.settings, 'state'), 'in the way');
    const run = await work(place, [read('a.txt'), edit('a.txt', 'one', 'uno'), shell('echo x >> src/b.txt')]);
    expect([run.exitCode, place.read('a.txt'), place.read('src/b.txt')]).toEqual([0, 'uno\n', 'two\nx\n']);
    expect(jsonOf(run).warnings).toEqual([expect.stringContaining("Changes can't be undone here")]);
  });
});
