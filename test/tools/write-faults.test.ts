import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorkspace } from '../../src/tools/workspace.js';
import type { ChildReport, ChildTask } from '../fixtures/file-child.js';
import { tempFolder } from './bench.js';
import { buildChild, bundle, type Child, waysToMount } from './child.js';

const isLinux = process.platform === 'linux';
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;
const LARGE = 'n'.repeat(600_000);

let child: Child;
beforeAll(async () => {
  child = await buildChild();
});
afterAll(() => child.dispose());

const patch = (...lines: readonly string[]) => ({ patch: `*** Begin Patch\n${lines.join('\n')}\n*** End Patch` });

/** What each tool is to do with files `f` and `g` of a few bytes, and with folders that are not there. */
const CALLS: readonly (readonly [string, Record<string, unknown>])[] = [
  ['write_file', { path: 'f', content: LARGE }],
  ['write_file', { path: 'new/deep/f', content: LARGE }],
  ['edit_file', { path: 'f', old_string: 'old', new_string: LARGE }],
  ['apply_patch', patch('*** Update File: g', '@@', '-old g', '+new', '*** Update File: f', '@@', '-old', `+${LARGE}`)],
  ['apply_patch', patch('*** Delete File: g', '*** Add File: new/deep/f', `+${LARGE}`)],
  ['apply_patch', patch('*** Update File: g', '*** Move to: new/deep/f', '@@', '-old g', `+${LARGE}`)],
];
const FILES = { f: 'old\n', g: 'old g\n', 'd/h': 'h\n' };
const TREE = { 'd/': '', 'd/h': 'h\n', f: 'old\n', g: 'old g\n' };

function expectUntouched(report: ChildReport, tree: Record<string, string>, reason: RegExp): void {
  expect(report.tree).toEqual(tree);
  expect(report.results.map(({ ok, code }) => [ok, code])).toEqual(report.results.map(() => [false, 'unwritable']));
  for (const { output } of report.results) expect(output).toMatch(reason);
}

describe.runIf(isLinux)('a write that fails leaves every file as it was, and nothing else', () => {
  it('where files may not grow any further', async () => {
    const root = await tempFolder();
    child.run({ root, files: FILES });
    const report = child.run({ root, calls: CALLS }, ['prlimit', '--fsize=100000', '--']);
    expectUntouched(report, TREE, /larger than is allowed/);
  });

  const mounting = waysToMount();
  it.runIf(mounting !== undefined)('on a full disk', async () => {
    const root = await tempFolder();
    const [name = '', ...words] = mounting ?? [];
    const script = 'mount -t tmpfs -o size=400k none "$1" && shift && exec "$@"';
    const task: ChildTask = { root, files: FILES, calls: CALLS };
    const out = execFileSync(name, [...words, 'sh', '-c', script, 'sh', root, ...child.command(task)]);
    expectUntouched(JSON.parse(String(out)), TREE, /the disk is full/);
  });

  it.runIf(mounting !== undefined)('on a file system that is read-only', async () => {
    const root = await tempFolder();
    child.run({ root, files: FILES });
    const [name = '', ...words] = mounting ?? [];
    const script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"';
    const task: ChildTask = { root, calls: CALLS };
    const out = execFileSync(name, [...words, 'sh', '-c', script, 'sh', root, ...child.command(task)]);
    expectUntouched(JSON.parse(String(out)), TREE, /the file system is read-only/);
  });

  it('in a folder that may not be written in', async () => {
    const root = await tempFolder();
    child.run({ root, files: FILES });
    chmodSync(root, 0o555);
    const report = child.run({ root, calls: CALLS }, [], isRoot ? { uid: NOBODY, gid: NOBODY } : {});
    expectUntouched(report, TREE, /permission denied/);
  });

  it('to a file that may not be written', async () => {
    const root = await tempFolder();
    child.run({ root, files: FILES });
    chmodSync(root, 0o777);
    for (const name of ['f', 'g']) chmodSync(join(root, name), 0o444);
    const report = child.run({ root, calls: CALLS.filter(([, input]) => input.path !== 'new/deep/f') }, [], {
      ...(isRoot && { uid: NOBODY, gid: NOBODY }),
    });
    expectUntouched(report, TREE, /permission denied/);
  });

  // As root alone files of several owners can be made.
  it.runIf(isRoot)('when the second of several files fails after the first was made', async () => {
    const root = await tempFolder();
    child.run({ root, files: { ...FILES, 's/k': 'k\n' } });
    chmodSync(root, 0o777);
    // Everybody may write the file, and only its owner may take it out of the folder.
    chmodSync(join(root, 's/k'), 0o666);
    chmodSync(join(root, 's'), 0o1777);
    for (const name of ['f', 'g', 'd', 'd/h']) chownSync(join(root, name), NOBODY, NOBODY);
    chmodSync(join(root, 'f'), 0o751);
    const call = patch(
      '*** Update File: f',
      '@@',
      '-old',
      '+new',
      '*** Add File: n/n/n',
      '+n',
      '*** Delete File: g',
      '*** Delete File: s/k',
    );
    const report = child.run({ root, calls: [['apply_patch', call]] }, [], { uid: NOBODY, gid: NOBODY });

    expectUntouched(report, { ...TREE, 's/': '', 's/k': 'k\n' }, /s\/k cannot be removed: not permitted/);
    expect(execFileSync('stat', ['-c', '%a %u', 'f', 'g'], { cwd: root, encoding: 'utf8' })).toBe(
      '751 65534\n644 65534\n',
    );
  });

  it('where folders can not be made, though nothing is in the way', async () => {
    const calls = [['write_file', { path: 'no/such/folder/f', content: 'x' }]] as const;
    // Of a folder that is always there: each process has another /proc/self.
    const report = child.run({ root: '/proc/1', calls, isListed: false });
    expect(report.results).toMatchObject([{ ok: false, code: 'unwritable' }]);
  });
});

describe.runIf(isLinux)('a process that is killed', () => {
  const LANES = 4;
  const KILLS_A_LANE = 25;

  it('at any of 100 moments leaves each file old or new, and what it left beside them is swept by the next write [A48]', async () => {
    const program = join(await tempFolder(), 'loop.mjs');
    await bundle('test/fixtures/write-loop.ts', program);
    const leftovers = await Promise.all(Array.from({ length: LANES }, () => killOver(program, KILLS_A_LANE)));
    expect(leftovers.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  }, 240_000);

  /** Gives how many temp files the killed ones left. */
  async function killOver(program: string, times: number): Promise<number> {
    const root = await tempFolder();
    // Not ours: of a living process, of another name, a folder.
    const others = ['.chatcli-1-0123456789ab.tmp', '.chatcli-999999999-x.tmp', 'chatcli-999999999-ab.tmp'];
    for (const name of others) writeFileSync(join(root, name), 'x');
    mkdirSync(join(root, '.chatcli-999999998-0123456789ab.tmp'));
    let leftovers = 0;
    for (let count = 0; count < times; count++) {
      const killed = spawn(process.execPath, [program, root], { stdio: ['ignore', 'pipe', 'inherit'] });
      await Promise.race([once(killed.stdout, 'data'), once(killed, 'exit')]);
      expect(killed.exitCode).toBeNull();
      await delay(Math.random() * 30);
      const ended = once(killed, 'exit');
      killed.kill('SIGKILL');
      await ended;
      const names = readdirSync(root, { recursive: true, encoding: 'utf8' });
      const temps = names.filter((name) => name.includes(`.chatcli-${killed.pid}-`));
      leftovers += temps.length;
      const seen = names.filter((name) => /^(f|g|d.h|d.e.i)$/.test(name)).map((name) => describeFile(root, name));
      expect(WHOLE).toEqual(expect.arrayContaining(seen));
      expect(seen.map((text) => text.split(' ')[0])).toEqual(expect.arrayContaining(['f', 'g']));
      // Of three files that change together one is gone only if the others came.
      expect(seen.some((text) => /^d.(e.i|h)/.test(text))).toBe(true);
    }
    const workspace = await createWorkspace({ root });
    for (const name of ['g', 'd/h', 'd/e/i']) await workspace.write(await workspace.locate(name), Buffer.from('x'));
    const left = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('chatcli-'));
    expect(left.sort()).toEqual([...others, '.chatcli-999999998-0123456789ab.tmp'].sort());
    return leftovers;
  }

  const WHOLE = ['f a300000', 'f b200000', 'g c10', 'g d50000', 'd/h d50000', 'd/e/i c10'];

  function describeFile(root: string, name: string): string {
    const text = readFileSync(join(root, name), 'latin1');
    const first = text[0] ?? '';
    return `${name} ${text === first.repeat(text.length) ? `${first}${text.length}` : 'mixed'}`;
  }
});
