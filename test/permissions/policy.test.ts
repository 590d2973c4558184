import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { flagHint } from '../../src/permissions/command-hint.js';
import { decide, type PolicyContext } from '../../src/permissions/policy.js';
import { nearestRealPath } from '../../src/permissions/real-path.js';
import { parseRuleList } from '../../src/permissions/rules.js';
import type { Permission, Request, RuleKind } from '../../src/permissions/types.js';

const shell = (command: string, cwd = '.'): Request => ({
  tool: 'shell',
  permission: 'execute',
  subjects: [{ kind: 'command', command, cwd }],
});
const file = (tool: string, permission: Permission, path: string): Request => ({
  tool,
  permission,
  subjects: [{ kind: 'path', path }],
});
const fetchUrl: Request = {
  tool: 'fetch_url',
  permission: 'network',
  subjects: [{ kind: 'url', url: 'https://x.org' }],
};
const plan: Request = { tool: 'update_plan', permission: 'meta', subjects: [{ kind: 'none' }] };

function context(
  more: Partial<PolicyContext> & { allow?: string[]; ask?: string[]; deny?: string[] } = {},
): PolicyContext {
  const { allow = [], ask = [], deny = [], ...rest } = more;
  const rules = (kind: RuleKind, texts: readonly string[]) =>
    parseRuleList(texts, { kind, source: { kind: 'settings', place: 'settings.json:1' } });
  return {
    mode: 'ask',
    rules: { allow: rules('allow', allow), ask: rules('ask', ask), deny: rules('deny', deny) },
    sandboxed: false,
    skipPermissions: more.mode === 'full-auto',
    workerReadOnly: false,
    canAsk: true,
    roots: ['/work/project', '/work/other'],
    howToAllow: flagHint,
    ...rest,
  };
}

describe('a read-only worker', () => {
  it.each([
    ['reads', file('read_file', 'read', 'a.ts'), 'allow'],
    ['runs a command of the table', shell('head -5 a.ts'), 'allow'],
    ['runs nothing else, not even by a rule', shell('npm test'), 'deny'],
    ['writes nothing', file('edit_file', 'write', 'a.ts'), 'deny'],
    ['fetches nothing', fetchUrl, 'deny'],
    ['reads no secret by a command', shell('cat .env'), 'deny'],
    ['updates its plan', plan, 'allow'],
  ])('%s', (_name, request, kind) => {
    const options = { workerReadOnly: true, mode: 'full-auto' as const, allow: ['shell(npm test)', 'edit', 'fetch'] };
    expect(decide(request, context(options)).kind).toBe(kind);
  });
});

describe('rules', () => {
  it.each([
    ['deny wins over the table', shell('ls'), { deny: ['shell(ls)'], allow: ['shell(ls)'] }, 'deny'],
    ['deny wins over reading', file('read_file', 'read', 'a'), { deny: ['read'] }, 'deny'],
    [
      'deny wins over full-auto',
      shell('npm publish'),
      { deny: ['shell(npm publish)'], mode: 'full-auto' as const },
      'deny',
    ],
    ['deny wins over meta', plan, { deny: ['update_plan'] }, 'deny'],
    [
      'allow frees the very command, in read-only mode too',
      shell('npm test'),
      { allow: ['shell(npm test)'], mode: 'read-only' as const, canAsk: false },
      'allow',
    ],
    ['allow does not free a longer one', shell('npm test; rm x'), { allow: ['shell(npm test)'] }, 'ask'],
    [
      'allow frees a whole compound command that it equals',
      shell('a && b | c'),
      { allow: ['shell(a && b | c)'] },
      'allow',
    ],
    ['allow for all of shell leaves what cannot be undone', shell('rm -rf x'), { allow: ['shell'] }, 'ask'],
    ['allow for that very command frees it', shell('rm -rf x'), { allow: ['shell(rm -rf x)'], canAsk: false }, 'allow'],
    ['allow for edit leaves protected paths', file('edit_file', 'write', '.git/config'), { allow: ['edit'] }, 'ask'],
    ['allow for read leaves secret files', file('read_file', 'read', '.env'), { allow: ['read'] }, 'ask'],
    ['allow for fetch', fetchUrl, { allow: ['fetch'], canAsk: false }, 'allow'],
  ])('%s', (_name, request, options, kind) => {
    expect(decide(request, context(options)).kind).toBe(kind);
  });
});

describe('paths of read-only commands', () => {
  it.each([
    ['inside', 'cat src/a.ts', '.', 'allow'],
    ['absolute, inside', 'cat /work/project/a.ts', '.', 'allow'],
    ['absolute, in an added folder', 'cat /work/other/a.ts', '.', 'allow'],
    ['a sibling with the same start', 'cat /work/project-evil/a', '.', 'ask'],
    ['outside', 'cat /etc/passwd', '.', 'ask'],
    ['upwards', 'cat ../x', '.', 'ask'],
    ['upwards and back', 'cat src/../../project/a', '.', 'ask'],
    ['a process environment', 'cat /proc/self/environ', '.', 'ask'],
    ['a key', 'head -3 certs/server.pem', '.', 'ask'],
    ['a key behind --', 'cat -- id_rsa', '.', 'ask'],
    ['a secret in other letters', 'cat .ENV', '.', 'ask'],
    ['a pattern that looks like a path', 'grep -n /etc/passwd src/a.ts', '.', 'allow'],
    ['a folder to work in', 'ls', 'src', 'allow'],
    ['a folder outside to work in', 'ls', '../other-project', 'ask'],
    ['a secret folder to work in', 'cat config', '.ssh', 'ask'],
  ])('%s: %s in %s → %s', (_name, command, cwd, kind) => {
    expect(decide(shell(command, cwd), context()).kind).toBe(kind);
  });
});

describe('a command in a folder of its own', () => {
  const alone = (allow: string[] = []) => context({ canAsk: false, allow });
  const reasonOf = (request: Request, allow?: string[]) => {
    const decision = decide(request, alone(allow));
    return decision.kind === 'deny' ? decision.reason : decision.kind;
  };

  it('is not what a rule for that command allows', () => {
    expect(decide(shell('npm test', 'sub'), alone(['shell(npm test)'])).kind).toBe('deny');
    expect(decide(shell('npm test', 'sub/..'), alone(['shell(npm test)'])).kind).toBe('allow');
    expect(decide(shell('rm -rf x', 'sub'), alone(['shell(rm -rf x)'])).kind).toBe('deny');
    expect(decide(shell('npm test', 'sub'), alone(['shell'])).kind).toBe('allow');
  });

  it('is asked about without a rule for the session', () => {
    expect(decide(shell('npm test', 'sub'), context())).toEqual({ kind: 'ask', reason: expect.any(String) });
  });

  it.each([
    ['npm test', 'sub', 'cd sub && npm test'],
    ['npm test', './a b', "cd './a b' && npm test"],
    ['npm test', "it's", "cd 'it'\\''s' && npm test"],
    ['npm test', '-x', 'cd ./-x && npm test'],
    ['rm -rf x', 'sub', 'cd sub && rm -rf x'],
  ])('%s in %s is allowed by the rule that the hint names, called as it says', (command, cwd, instead) => {
    const reason = reasonOf(shell(command, cwd));
    expect(reason).toContain(`leave cwd out and give the command \`${instead}\``);
    const quoted = /--allowed-tools '((?:[^']|'\\'')*)'/.exec(reason)?.[1] ?? '';
    const rule = quoted.replaceAll("'\\''", "'");
    expect(rule).toBe(`shell(${instead})`);
    expect(decide(shell(instead), alone([rule]))).toMatchObject({ kind: 'allow', rule });
  });

  it('that a rule allows in the root, or with cd, is told so', () => {
    expect(reasonOf(shell('npm test', 'sub'), ['shell(npm test)'])).toContain(
      'The rule "shell(npm test)" counts in the workspace root only: leave cwd out if that will do.',
    );
    expect(reasonOf(shell('npm test', 'sub'), ['shell(cd sub && npm test)'])).toContain(
      'Leave cwd out and give the command `cd sub && npm test`, which the rule "shell(cd sub && npm test)" allows.',
    );
  });

  it('that needs a rule of its own is not told of one for all commands', () => {
    expect(reasonOf(shell('rm -rf x', 'sub'), ['shell'])).not.toContain('The rule');
  });

  it('for which no rule can be written gets none', () => {
    expect(reasonOf(shell('ls *', 'sub'))).toMatch(/To allow it: --allowed-tools shell \(every command\)\.$/);
    expect(reasonOf(shell('rm -rf *', 'sub'))).toMatch(/Only a person at a terminal can allow it\.$/);
  });

  it('outside the workspace, where the gate lets none start, gets no hint', () => {
    for (const command of ['npm test', 'rm -rf x']) {
      const reason = reasonOf(shell(command, '../elsewhere'), ['shell(npm test)']);
      expect(reason).toContain('../elsewhere is outside the workspace, where no command may start.');
      expect(reason).not.toContain('--allowed-tools');
    }
    expect(decide(shell('npm test', '../elsewhere'), context({ mode: 'read-only' }))).toMatchObject({
      reason: expect.not.stringContaining('--allowed-tools'),
    });
  });
});

describe('links', () => {
  let root: string;
  beforeAll(() => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'policy-')));
    root = join(folder, 'id_project');
    mkdirSync(join(root, '.git'), { recursive: true });
    writeFileSync(join(folder, 'outside'), '');
    writeFileSync(join(root, '.env'), '');
    symlinkSync('../outside', join(root, 'link'));
    symlinkSync('.env', join(root, 'settings'));
    symlinkSync('.git', join(root, 'docs'));
    symlinkSync('..', join(root, 'up'));
  });
  afterAll(() => rmSync(join(root, '..'), { recursive: true }));

  it.each([
    ['a plain file', shell('cat a.ts'), 'allow'],
    ['the workspace itself, whatever its name', shell('ls .'), 'allow'],
    ['a link out of the workspace', shell('cat link'), 'ask'],
    ['a link to a secret', shell('cat settings'), 'ask'],
    ['a folder link out of the workspace', shell('ls', 'up'), 'ask'],
    ['reading by a link to a secret', file('read_file', 'read', 'settings'), 'ask'],
    ['listing the workspace', file('list_files', 'read', '.'), 'allow'],
  ])('%s', (_name, request, kind) => {
    expect(decide(request, context({ roots: [root], realPath: nearestRealPath })).kind).toBe(kind);
  });

  it('a link to a protected folder is protected', () => {
    const request = file('write_file', 'write', 'docs/config');
    const options = { roots: [root], realPath: nearestRealPath, mode: 'full-auto' as const, canAsk: false };
    expect(decide(request, context(options))).toMatchObject({ kind: 'deny', rule: 'protected path' });
  });

  it('a workspace that lies under .claude is an ordinary one', () => {
    const options = { roots: ['/w/.claude/worktrees/x'], mode: 'auto-edit' as const };
    expect(decide(file('write_file', 'write', 'a.ts'), context(options)).kind).toBe('allow');
    expect(decide(file('write_file', 'write', '/w/.claude/settings.json'), context(options)).kind).toBe('ask');
  });
});

describe('what a decision says', () => {
  it('names the exact rule that would allow a command', () => {
    expect(decide(shell("grep -r 'x' ."), context({ canAsk: false }))).toEqual({
      kind: 'deny',
      rule: 'mode ask',
      reason:
        "Mode ask asks before each command that does more than read. There is nobody to ask. To allow it: --allowed-tools 'shell(grep -r '\\''x'\\'' .)'.",
    });
  });

  it('names the mode that would allow an edit', () => {
    expect(decide(file('edit_file', 'write', 'a'), context({ canAsk: false, mode: 'read-only' }))).toMatchObject({
      rule: 'mode read-only',
      reason: expect.stringContaining('--approval-mode auto-edit'),
    });
  });

  it('offers the rule for a session where one may be stored', () => {
    expect(decide(shell('npm test'), context())).toMatchObject({ kind: 'ask', rule: 'shell(npm test)' });
    expect(decide(file('write_file', 'write', 'a'), context())).toMatchObject({ kind: 'ask', rule: 'write_file' });
    expect(decide(shell('rm -rf x'), context())).not.toHaveProperty('rule');
    expect(decide(file('read_file', 'read', '.env'), context())).not.toHaveProperty('rule');
  });

  it.each([
    ['ends like a pattern', 'ls *'],
    ['has quotes left open', "echo it's"],
    ['begins with a blank', ' npm test'],
  ])('offers no rule for a command that %s', (_name, command) => {
    expect(decide(shell(command), context())).not.toHaveProperty('rule');
  });

  it('every rule that it offers or hints at allows that command', () => {
    for (const command of ['npm test', 'a, b', 'node "x, (y"', 'a\nb', 'f() { g; }; f']) {
      const decision = decide(shell(command), context());
      const rule = decision.kind === 'ask' ? decision.rule : undefined;
      expect(decide(shell(command), context({ canAsk: false, allow: [rule ?? ''] }))).toMatchObject({
        kind: 'allow',
        rule,
      });
    }
  });

  it.each([
    ['an escape', 'printf \u001b[31mred'],
    ['a direction mark', 'echo \u202etxt'],
    ['a zero-width space', 'echo a\u200bb'],
    ['a soft hyphen', 'rm -rf a\u00adb'],
  ])('hints at no rule for a command with %s, which could not be typed', (_name, command) => {
    for (const cwd of ['.', 'sub']) {
      const decision = decide(shell(command, cwd), context({ canAsk: false }));
      expect(decision).toMatchObject({ kind: 'deny', rule: 'always ask' });
      expect(JSON.stringify(decision)).not.toContain('--allowed-tools');
    }
  });

  it('hints at no rule that would not free the command', () => {
    const decision = decide(shell('rm -rf *'), context({ canAsk: false }));
    expect(decision).toMatchObject({ reason: expect.stringMatching(/Only a person at a terminal can allow it\.$/) });
  });

  it.each<[string, Parameters<typeof context>[0]]>([
    ['by the table', { canAsk: true }],
    ['by a rule', { allow: ['shell'] }],
    ['by the mode', { mode: 'full-auto' as const }],
  ])('tells of a command that only reads, allowed %s', (_name, options) => {
    expect(decide(shell('ls -la', 'src'), context(options))).toMatchObject({ kind: 'allow', onlyReads: true });
    expect(decide(shell('npm test'), context(options))).not.toHaveProperty('onlyReads');
    expect(decide(file('read_file', 'read', 'a'), context(options))).not.toHaveProperty('onlyReads');
  });

  it('does not repeat a long command', () => {
    const decision = decide(shell(`node ${'x'.repeat(5_000)}`), context({ canAsk: false }));
    expect(decision).toMatchObject({ kind: 'deny' });
    expect(JSON.stringify(decision).length).toBeLessThan(400);
  });
});

describe('a command of several parts', () => {
  const allow = ['shell(npm test)', 'shell(npm run *)'];
  it.each([
    ['all parts allowed by rules or by the table', 'npm test && ls src | head -3', 'allow'],
    ['lines', 'npm test\nnpm run a', 'allow'],
    ['one part that nothing allows', 'npm test && npm publish', 'deny'],
    ['a part that is not literal', 'npm test && ls $X', 'deny'],
    ['a redirect of a part', 'npm test > ls', 'deny'],
    ['a part that is a wrapper', 'npm test && env ls', 'deny'],
    ['another folder on the way', 'cd sub && npm test', 'deny'],
    ['a program that reads only in an environment of its own', 'npm test && rg x', 'deny'],
    ['a secret part', 'npm test && cat .env', 'deny'],
  ])('%s: %s → %s', (_name, command, kind) => {
    expect(decide(shell(command), context({ allow, canAsk: false })).kind).toBe(kind);
    expect(decide(shell(command, 'sub'), context({ allow, canAsk: false })).kind).toBe('deny');
  });

  it('is denied where one part is denied, whatever allows the others', () => {
    const rules = { allow: ['shell', ...allow], deny: ['shell(npm publish)'], mode: 'full-auto' as const };
    expect(decide(shell('npm test && npm publish'), context(rules))).toMatchObject({
      kind: 'deny',
      rule: 'shell(npm publish)',
      source: 'settings.json:1',
    });
  });

  it('names the part that needs a rule', () => {
    expect(decide(shell('npm test && npm pack'), context({ allow }))).toMatchObject({
      kind: 'ask',
      reason: expect.stringContaining('`npm pack`'),
    });
  });

  it('needs no look at secrets by a search through folders that a rule keeps closed', () => {
    expect(decide(shell('rg x'), context()).kind).toBe('allow');
    expect(decide(shell('rg x'), context({ deny: ['read(secret/**)'] })).kind).toBe('ask');
  });
});

describe('the rule that is stored for good', () => {
  const offered = (request: Request) => {
    const decision = decide(request, context());
    return decision.kind === 'ask' ? decision.storedRule : decision.kind;
  };

  it.each([
    ['npm test', 'shell(npm test)'],
    ['npm run build -- --prod', 'shell(npm run build -- --prod)'],
    ['make test && npm test', 'shell(make test && npm test)'],
    ['cargo test', 'shell(cargo test)'],
    ['tsc -p .', 'shell(tsc -p .)'],
  ])('names the very command: %s', (command, rule) => {
    expect(offered(shell(command))).toBe(rule);
    expect(decide(shell(command), context({ allow: [rule], canAsk: false })).kind).toBe('allow');
    expect(decide(shell(`${command} x`), context({ allow: [rule], canAsk: false })).kind).toBe('deny');
  });

  it.each([
    'git status',
    'git commit -m x',
    'node a.js',
    'python3.12 a.py',
    'bash a.sh',
    'npx tsc',
    'npm install x',
    'npm exec x',
    'pip install x',
    'env npm test',
    'timeout 5 npm test',
    'xargs npm test',
    'sudo npm test',
    'docker run x',
    'npm test && git status',
    'npm test > out',
    'npm test $X',
    'rm -rf build',
    'cat .env',
  ])('is none for %s', (command) => {
    expect(offered(shell(command))).toBeUndefined();
  });

  it('names the very file or host', () => {
    expect(offered(file('write_file', 'write', 'src/[a].ts'))).toBe(String.raw`write_file(./src/\[a\].ts)`);
    expect(offered(fetchUrl)).toBe('fetch_url(domain:x.org)');
    expect(decide(fetchUrl, context())).toMatchObject({ rule: 'fetch_url(domain:x.org)' });
    expect(offered(file('write_file', 'write', '.git/config'))).toBeUndefined();
  });

  it('is none in another folder than the root', () => {
    expect(offered(shell('npm test', 'sub'))).toBeUndefined();
  });
});

describe('an ask rule', () => {
  it('is named with its place, and asks each time: no rule is offered', () => {
    expect(decide(shell('npm pack'), context({ ask: ['shell(npm pack)'] }))).toEqual({
      kind: 'ask',
      reason: 'The rule "shell(npm pack)" (settings.json:1) asks for it each time.',
      matched: { rule: 'shell(npm pack)', source: 'settings.json:1' },
    });
  });
});
