import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { calls, says, type Turn } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { jsonOf, lastResult, resultsIn } from './reading.js';
import { type PlayOptions, play } from './support.js';

const FILES = {
  'a.txt': 'one\n',
  'package.json': '{"scripts":{"test":"echo tested"}}\n',
  'build/x': 'x\n',
  '.env': 'TOKEN=of-the-project\n',
};

const edit = calls('edit_file', { path: 'a.txt', old_string: 'one', new_string: 'two' });
const shell = (command: string, more: object = {}) => calls('shell', { command, ...more });

/** One turn with all of these calls: each is judged by itself, and one run is enough for all of them. */
const together = (turns: readonly Turn[]): Turn => ({ calls: turns.flatMap((turn) => turn.calls ?? []) });

/** Runs coder on turns and a last word, and gives the JSON result beside the run. */
async function code(turns: readonly Turn[], flags: readonly string[] = [], options: PlayOptions = {}) {
  const run = await play([...turns, says('That is all.')], ['coder', 'x', '--output-format', 'json', ...flags], {
    files: FILES,
    ...options,
  });
  return { ...run, result: jsonOf(run) };
}

describe('a run without a terminal', () => {
  it.each<[string, Turn, string, string]>([
    ['edit_file', edit, 'a.txt', '--approval-mode auto-edit'],
    ['write_file', calls('write_file', { path: 'new.txt', content: 'x' }), 'new.txt', '--approval-mode auto-edit'],
    ['shell', shell('touch new.txt'), 'touch new.txt', "--allowed-tools 'shell(touch new.txt)'"],
  ])(
    'may only read: %s is denied, the denial says what would allow it, and the run ends with exit 6',
    async (tool, turn, subject, flag) => {
      const run = await code([turn]);

      expect(run.exitCode).toBe(6);
      expect(lastResult(run)).toContain(flag);
      expect(run.result).toMatchObject({
        subtype: 'error_denied',
        is_error: true,
        exit_code: 6,
        result: 'That is all.',
        permission_denials: [{ tool, subject, rule: 'mode read-only', reason: expect.stringContaining(flag) }],
        proof: { files_changed: [], commands_since_last_edit: [] },
      });
      expect(run.stderr).toContain(flag);
      expect([run.place.read('a.txt'), run.place.has('new.txt')]).toEqual(['one\n', false]);
    },
  );

  it('reads, lists and searches freely', async () => {
    const turns = [
      calls('read_file', { path: 'a.txt' }),
      calls('list_files', {}),
      calls('search_files', { pattern: 'one' }),
    ];
    const run = await code(turns);

    expect(run.result).toMatchObject({ subtype: 'success', permission_denials: [] });
    expect(resultsIn(run.requests.at(-1))).toEqual([
      expect.stringContaining('one'),
      expect.stringContaining('a.txt'),
      expect.stringContaining('a.txt'),
    ]);
  });

  it('is over at the third refusal of the same call', async () => {
    const run = await play(() => shell('touch x'), ['coder', 'x', '--output-format', 'json']);

    expect(jsonOf(run)).toMatchObject({ subtype: 'error_denied', exit_code: 6, num_turns: 3 });
    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 6, requests: 3 });
  });

  it('is answered after all where an action of the class went well later', async () => {
    const run = await code([shell('touch x'), shell('npm test')], ['--allowed-tools', 'shell(npm test)']);

    expect(run.exitCode).toBe(0);
    expect(run.result).toMatchObject({
      subtype: 'success',
      permission_denials: [{ tool: 'shell', subject: 'touch x' }],
    });
  });

  it('prints the last words of a denied run marked as partial', async () => {
    const run = await play([edit, says('I could not.')], ['coder', 'x'], { files: FILES });

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({
      exitCode: 6,
      stdout: '[partial: stopped: a needed action was denied]\nI could not.\n',
    });
  });

  it.each(['agent', 'coder', 'file', 'planner', 'refiner', 'verifier', 'chat'])(
    'of the worker %s can run a command of the read-only table',
    async (worker) => {
      const run = await play([shell('cat a.txt'), says('ok')], ['agent', 'x', '--worker', worker], { files: FILES });

      expect(run.exitCode).toBe(0);
      expect(lastResult(run)).toMatch(/^one\n[\s\S]*exit code 0$/);
    },
  );

  it.each(['file', 'chat'])('of the worker %s changes nothing, whatever is allowed', async (worker) => {
    const flags = [
      '--worker',
      worker,
      '--approval-mode',
      'auto-edit',
      '--allowed-tools',
      'shell(touch new.txt)',
      '--allowed-tools',
      'edit',
    ];
    const run = await play([shell('touch new.txt'), edit, says('ok')], ['agent', 'x', ...flags], { files: FILES });

    expect([run.place.read('a.txt'), run.place.has('new.txt')]).toEqual(['one\n', false]);
    expect(run.exitCode).toBe(6);
  });
});

describe('the read-only table', () => {
  const held = [
    'ls -la',
    'cat a.txt',
    'head -n 1 a.txt',
    'tail -1 a.txt',
    'wc -l a.txt',
    'pwd',
    'stat a.txt',
    'grep -n one a.txt',
    "grep 'a|b' a.txt package.json",
  ];
  const notHeld = [
    'touch pwned',
    'ls; touch pwned',
    'ls && touch pwned',
    'ls | tee pwned',
    'ls > pwned',
    'cat a.txt >> pwned',
    'ls $(touch pwned)',
    'ls `touch pwned`',
    'ls\ntouch pwned',
    'ls & touch pwned',
    'cat <(touch pwned)',
    '>pwned ls',
    'X=1 ls',
    'sh -c "touch pwned"',
    'env touch pwned',
    'xargs touch pwned',
    'cat ../secret.txt',
    'cat /etc/hostname',
    'cat ~/x',
    'cat $HOME/x',
    'cat .env',
    'ls ..',
    'grep -r one .',
    'grep -f .env a.txt',
    'tail -f a.txt',
    'rg --pre touch one',
    'stat /etc',
    'cat link',
    'ls up',
  ];
  const place = makePlace(FILES);
  let passed: readonly string[];
  let denied: readonly string[];

  beforeAll(async () => {
    writeFileSync(join(place.root, '..', 'secret.txt'), 'outside\n');
    symlinkSync('../secret.txt', join(place.root, 'link'));
    symlinkSync('..', join(place.root, 'up'));
    const run = await code(
      [together(held.map((command) => shell(command))), together(notHeld.map((command) => shell(command)))],
      [],
      { place },
    );
    const results = resultsIn(run.requests.at(-1));
    [passed, denied] = [results.slice(0, held.length), results.slice(held.length)];
  });

  it.each(held.map((command, index) => [command, index] as const))('lets %j pass', (_, index) => {
    expect(passed[index]).toMatch(/exit code [01]$/);
  });

  it.each(notHeld.map((command, index) => [command, index] as const))('does not hold %j', (_, index) => {
    expect(denied[index]).toMatch(/^Denied/);
    expect(place.has('pwned')).toBe(false);
  });
});

describe('--approval-mode', () => {
  it.each(['auto-edit', 'acceptEdits'])('%s lets files change and no command run', async (mode) => {
    const run = await code(
      [edit, calls('write_file', { path: 'new.txt', content: 'x' }), shell('touch pwned')],
      ['--approval-mode', mode],
    );

    expect([run.place.read('a.txt'), run.place.read('new.txt'), run.place.has('pwned')]).toEqual(['two\n', 'x', false]);
    expect(run.result).toMatchObject({
      subtype: 'error_denied',
      permission_denials: [{ tool: 'shell', subject: 'touch pwned' }],
    });
  });

  it.each(['read-only', 'plan', 'ask', 'default'])(
    '%s lets nothing change where there is nobody to ask',
    async (mode) => {
      const run = await code([edit, shell('touch pwned')], ['--approval-mode', mode]);

      expect([run.place.read('a.txt'), run.place.has('pwned'), run.exitCode]).toEqual(['one\n', false, 6]);
    },
  );

  it.each<[string, readonly string[], PlayOptions['env']]>([
    ['the flag', ['--approval-mode', 'full-auto'], { CHATCLI_SANDBOX: 'off' }],
    ['its synonym', ['--approval-mode', 'yolo', '--sandbox', 'off'], {}],
    ['the variable', ['--sandbox=off'], { CHATCLI_APPROVAL_MODE: 'full-auto' }],
  ])(
    'full-auto, by %s, is refused with exit 3 without a sandbox or --dangerously-skip-permissions',
    async (_, flags, env) => {
      const run = await code([shell('touch pwned')], flags, { env: env ?? {} });

      expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 3, requests: 0 });
      expect(run.stderr).toContain('--dangerously-skip-permissions');
      expect(run.result).toMatchObject({ subtype: 'error_config' });
    },
  );

  it('full-auto runs everything with --dangerously-skip-permissions', async () => {
    const run = await code([edit, shell('touch made && echo yes > it')], ['--dangerously-skip-permissions']);

    expect([run.place.read('a.txt'), run.place.has('made'), run.place.read('it')]).toEqual(['two\n', true, 'yes\n']);
    expect(run.result).toMatchObject({ subtype: 'success', permission_denials: [] });
  });

  it('full-auto still needs a person for what cannot be undone [pain 12]', async () => {
    const commands = [
      'rm -rf build',
      'rm -r -f build',
      'git reset --hard',
      'sudo touch pwned',
      'sh -c "rm -rf build"',
      'touch pwned; rm -rf build',
    ];
    const run = await code([together(commands.map((command) => shell(command)))], ['--dangerously-skip-permissions']);

    expect(run.result.permission_denials.map(({ subject }: { subject: string }) => subject)).toEqual(commands);
    expect([run.place.has('build/x'), run.place.has('pwned'), run.exitCode]).toEqual([true, false, 6]);
  });

  it('never lets a question change anything', async () => {
    const run = await play([edit, shell('touch pwned'), says('ok')], ['-p', 'x', '--dangerously-skip-permissions'], {
      files: FILES,
    });

    expect([run.place.read('a.txt'), run.place.has('pwned')]).toEqual(['one\n', false]);
  });
});

describe('--allowed-tools', () => {
  it('allows the very command, and its output is real', async () => {
    const run = await code([shell('npm test')], ['--allowed-tools', 'shell(npm test)']);

    expect(lastResult(run)).toMatch(/tested[\s\S]*exit code 0$/);
    expect(run.result).toMatchObject({
      subtype: 'success',
      proof: { commands_since_last_edit: [{ command: 'npm test', exit_code: 0 }] },
    });
  });

  it('allows it by its words only', async () => {
    const commands = [
      'npm test; touch pwned',
      'npm test && touch pwned',
      'npm test | tee pwned',
      'npm test > pwned',
      'npm test\ntouch pwned',
      'npm test & touch pwned',
      'npm test $(touch pwned)',
      'npm test -- --x',
      'touch pwned; npm test',
      'npm te\\st',
      'sh -c "npm test"',
      'npm',
    ];
    const run = await code(
      [together(commands.map((command) => shell(command)))],
      ['--allowed-tools', 'shell(npm test)'],
    );

    expect(run.result.permission_denials.map(({ subject }: { subject: string }) => subject)).toEqual(commands);
    expect([run.place.has('pwned'), run.exitCode]).toEqual([false, 6]);
  });

  it.each<[string, readonly string[]]>([
    ['repeated', ['--allowed-tools', 'shell(npm test)', '--allowed-tools', 'shell(echo a, b)']],
    ['with commas between them', ['--allowed-tools', 'shell(npm test),shell(echo a, b)']],
    ['by a name alone, for all commands', ['--allowed-tools', 'shell']],
    ['by a name from elsewhere', ['--allowed-tools', 'Bash(npm test)', '--allowed-tools', 'Bash(echo a, b)']],
  ])('takes several rules: %s', async (_, flags) => {
    const run = await code([shell('npm test'), shell('echo a, b')], flags);

    expect(run.result).toMatchObject({ subtype: 'success', permission_denials: [] });
  });

  it('by name allows a tool that changes files', async () => {
    const run = await code([edit], ['--allowed-tools', 'edit']);

    expect([run.place.read('a.txt'), run.exitCode]).toEqual(['two\n', 0]);
  });

  it.each([
    ['an unknown tool', '--allowed-tools', 'teleport'],
    ['an open parenthesis', '--allowed-tools', 'shell(npm test'],
    ['a pattern before more words', '--disallowed-tools', 'shell(npm * test)'],
    ['an address with a path', '--allowed-tools', 'fetch(domain:x.org/a)'],
    ['an unknown tool', '--disallowed-tools', 'teleport'],
  ])('%s is a usage error, not a rule that never matches', async (_, flag, rule) => {
    const run = await code([], [flag, rule]);

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 2, requests: 0 });
    expect(run.stderr).toContain(rule);
  });
});

describe('--disallowed-tools', () => {
  it.each<[string, readonly string[], Turn]>([
    [
      'wins over --dangerously-skip-permissions',
      ['--dangerously-skip-permissions', '--disallowed-tools', 'shell'],
      shell('touch pwned'),
    ],
    [
      'wins over --allowed-tools',
      ['--allowed-tools', 'shell(touch pwned)', '--disallowed-tools', 'shell(touch pwned)'],
      shell('touch pwned'),
    ],
    [
      'wins over a command that is written in another way',
      ['--dangerously-skip-permissions', '--disallowed-tools', 'shell(touch pwned)'],
      shell("touch  'pwned'"),
    ],
    ['wins over auto-edit', ['--approval-mode', 'auto-edit', '--disallowed-tools', 'edit'], edit],
    ['takes reading away', ['--disallowed-tools', 'read'], calls('read_file', { path: 'a.txt' })],
    ['takes the read-only table away', ['--disallowed-tools', 'shell'], shell('cat a.txt')],
  ])('%s', async (_, flags, turn) => {
    const run = await code([turn], flags);

    expect(lastResult(run)).toMatch(/^Denied/);
    expect([run.place.read('a.txt'), run.place.has('pwned')]).toEqual(['one\n', false]);
  });
});

describe('a path', () => {
  const SECRET = 'what stands outside';

  const place = makePlace(FILES);
  const secret = join(place.root, '..', 'secret.txt');
  const ways = [
    ...['../secret.txt', secret, 'link', 'up/secret.txt', 'build/../../secret.txt'].flatMap((path) => [
      calls('read_file', { path }),
      calls('edit_file', { path, old_string: 'what', new_string: 'WHAT' }),
      calls('write_file', { path, content: 'gone' }),
    ]),
    calls('write_file', { path: 'up/new.txt', content: 'x' }),
    calls('list_files', { path: '..' }),
    calls('list_files', { path: 'up' }),
    calls('list_files', { pattern: '../*' }),
    calls('search_files', { pattern: 'stands', path: '..' }),
    calls('search_files', { pattern: 'stands', path: 'up' }),
    calls('search_files', { pattern: 'stands', glob: '../*' }),
    calls('search_files', { pattern: 'stands outside' }),
    shell('cat secret.txt', { cwd: '..' }),
    shell('cat secret.txt', { cwd: 'up' }),
  ].map((turn) => [`${turn.calls?.[0]?.name} ${JSON.stringify(turn.calls?.[0]?.arguments)}`, turn] as const);
  let results: readonly string[];

  beforeAll(async () => {
    writeFileSync(secret, `${SECRET}\n`);
    symlinkSync('../secret.txt', join(place.root, 'link'));
    symlinkSync('..', join(place.root, 'up'));
    const run = await code([together(ways.map(([, turn]) => turn))], ['--dangerously-skip-permissions'], { place });
    results = resultsIn(run.requests.at(-1));
  });

  it.each(ways.map(([way], index) => [way, index] as const))(
    'leads nowhere outside the workspace, also with all permissions: %s [A19] [pain 20]',
    (_, index) => {
      expect(results[index]).toEqual(expect.any(String));
      expect(results[index]).not.toContain(SECRET);
      // As a listing would show it.
      expect(results[index]).not.toMatch(/secret\.txt$/m);
    },
  );

  it('leaves what is outside as it was [pain 20]', () => {
    expect(readFileSync(secret, 'utf8')).toBe(`${SECRET}\n`);
    expect(existsSync(join(place.root, '..', 'new.txt'))).toBe(false);
  });

  it('outside is inside with --add-dir', async () => {
    const other = makePlace({ 'b.txt': 'beside\n' });
    const run = await code([calls('read_file', { path: join(other.root, 'b.txt') })], ['--add-dir', other.root]);

    expect(lastResult(run)).toContain('beside');
  });

  it('to a secret file or to what runs later needs a person in every mode', async () => {
    const turns = [
      calls('read_file', { path: '.env' }),
      calls('write_file', { path: '.git/config', content: 'x' }),
      calls('write_file', { path: '.git/hooks/pre-commit', content: 'x' }),
      shell('cat .env'),
    ];
    const run = await code([together(turns)], ['--dangerously-skip-permissions']);

    expect(resultsIn(run.requests.at(-1)).map((result) => result.slice(0, 6))).toEqual(turns.map(() => 'Denied'));
    expect(run.place.has('.git')).toBe(false);
    expect(JSON.stringify(run.requests.map(({ body }) => body))).not.toContain('of-the-project');
  });
});
