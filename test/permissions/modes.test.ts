import { describe, expect, it } from 'vitest';
import { flagHint } from '../../src/permissions/command-hint.js';
import { decide, type PolicyContext } from '../../src/permissions/policy.js';
import { parseRuleList } from '../../src/permissions/rules.js';
import type { ApprovalMode, Permission, Request } from '../../src/permissions/types.js';

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
const mcp: Request = { tool: 'mcp__server__tool', permission: 'execute', subjects: [{ kind: 'none' }] };
const plan: Request = { tool: 'update_plan', permission: 'meta', subjects: [{ kind: 'none' }] };
const long = shell(`node ${'x'.repeat(15_000)}`);

/** The columns of the table: mode, sandbox, `--dangerously-skip-permissions`. */
const COLUMNS: readonly (readonly [mode: ApprovalMode, sandboxed: boolean, skipPermissions: boolean])[] = [
  ['read-only', false, false],
  ['ask', false, false],
  ['auto-edit', false, false],
  ['full-auto', true, false],
  ['full-auto', false, false],
  ['full-auto', false, true],
];

function cells(request: Request, more: Partial<PolicyContext>): string {
  return COLUMNS.map(([mode, sandboxed, skipPermissions]) => {
    const context: PolicyContext = {
      mode,
      sandboxed,
      skipPermissions,
      rules: { deny: [], ask: [], allow: [] },
      workerReadOnly: false,
      canAsk: true,
      roots: ['/work/project', '/work/other'],
      home: '/home/me',
      protectedFolders: ['/work/other/meta.git'],
      howToAllow: flagHint,
      ...more,
    };
    return decide(request, context).kind;
  }).join(' ');
}

const deny = (...texts: readonly string[]) => ({
  rules: {
    deny: parseRuleList(texts, { kind: 'deny', source: { kind: 'flag', place: '--disallowed-tools' } }),
    ask: [],
    allow: parseRuleList(['shell', 'edit', 'write', 'fetch', 'read']),
  },
});
const ask = (...texts: readonly string[]) => ({
  rules: {
    deny: [],
    ask: parseRuleList(texts, { kind: 'ask', source: { kind: 'settings', place: 'settings.json:2' } }),
    allow: parseRuleList(['shell', 'edit', 'fetch', 'read', 'shell(npm publish)']),
  },
});

const ALWAYS = 'allow allow allow allow allow allow';
const NEVER = 'deny deny deny deny deny deny';
const GUARDED = 'deny ask ask ask ask ask';

// read-only, ask, auto-edit, full-auto in a sandbox, full-auto without one, the same with the flag.
describe('the modes, by what is to be done', () => {
  it.each<[string, Request, string, string, Partial<PolicyContext>?]>([
    ['reading in the workspace', file('read_file', 'read', 'src/a.ts'), ALWAYS, ALWAYS],
    ['searching', file('search_files', 'read', '.'), ALWAYS, ALWAYS],
    ['a plan', plan, ALWAYS, ALWAYS],
    ['reading a secret file', file('read_file', 'read', '.env'), GUARDED, NEVER],
    ['writing a secret file', file('write_file', 'write', '.env'), GUARDED, NEVER],
    ['a secret file by a command', shell('cat .env'), GUARDED, NEVER],
    ['a secret file of the home', shell('cat ~/.ssh/config'), GUARDED, NEVER],
    [
      'the state of processes',
      shell('grep x /proc/self/status'),
      'deny ask ask allow ask ask',
      'deny deny deny allow deny deny',
    ],
    ['a secret file in a chain', shell('npm test; cp .env x'), GUARDED, NEVER],
    ['a command of the table', shell('ls -la src'), ALWAYS, ALWAYS],
    ['commands of the table', shell('ls src | head -3 && pwd'), ALWAYS, ALWAYS],
    [
      'reading outside by a command',
      shell('cat /etc/hostname'),
      'deny ask ask allow ask allow',
      'deny deny deny allow deny allow',
    ],
    ['another command', shell('npm test'), 'deny ask ask allow ask allow', 'deny deny deny allow deny allow'],
    [
      'a command that is not literal',
      shell('echo $X > a'),
      'deny ask ask allow ask allow',
      'deny deny deny allow deny allow',
    ],
    ['an opaque command', long, GUARDED, NEVER],
    ['a command that bash would not take', shell('if ls'), GUARDED, NEVER],
    ['a command with a character of another script', shell('echo \u2028'), GUARDED, NEVER],
    ['a command with a NUL', shell('ls\0x'), NEVER, NEVER],
    ['a command without way back', shell('rm -rf build'), GUARDED, NEVER],
    [
      'an edit',
      file('edit_file', 'write', 'src/a.ts'),
      'deny ask allow allow ask allow',
      'deny deny allow allow deny allow',
    ],
    [
      'a new file',
      file('write_file', 'write', 'src/b.ts'),
      'deny ask allow allow ask allow',
      'deny deny allow allow deny allow',
    ],
    ['a protected path', file('write_file', 'write', '.git/hooks/x'), GUARDED, NEVER],
    ['settings of ours', file('write_file', 'write', '.chatcli/settings.json'), GUARDED, NEVER],
    ['a protected path below', file('edit_file', 'write', 'sub/.git/config'), GUARDED, NEVER],
    ['a folder of git that lies elsewhere', file('write_file', 'write', '/work/other/meta.git/config'), GUARDED, NEVER],
    [
      'a protected path by a redirect',
      shell('echo x > .git/hooks/pre-commit'),
      'deny ask ask allow ask ask',
      'deny deny deny allow deny deny',
    ],
    [
      'a protected path by a copy',
      shell('cp x .vscode/tasks.json'),
      'deny ask ask allow ask ask',
      'deny deny deny allow deny deny',
    ],
    ['a fetch', fetchUrl, 'deny ask ask ask ask allow', 'deny deny deny deny deny allow'],
    ['a tool of a server', mcp, 'deny ask ask ask ask allow', 'deny deny deny deny deny allow'],
    ['what a deny rule names', shell('npm publish'), NEVER, NEVER, deny('shell(npm publish)')],
    ['what a deny rule names, in a wrapper', shell('env -i sh -c "npm publish"'), NEVER, NEVER, deny('shell(npm *)')],
    ['a file that a deny rule names', file('read_file', 'read', 'a/b'), NEVER, NEVER, deny('read(a/**)')],
    ['such a file by a command', shell('head -3 a/b'), NEVER, NEVER, deny('read(a/**)')],
    ['such a file by an edit', file('edit_file', 'write', 'a/b'), NEVER, NEVER, deny('read(a/**)')],
    ['an address that a deny rule names', fetchUrl, NEVER, NEVER, deny('fetch(domain:x.org)')],
    ['what may be what a deny rule names', shell('$x publish'), GUARDED, NEVER, deny('shell(npm publish)')],
    ['what may have what a deny rule names behind it', shell('npm $x'), GUARDED, NEVER, deny('shell(npm publish)')],
    ['what an ask rule names', shell('npm publish'), GUARDED, NEVER, ask('shell(npm publish)')],
    [
      'a file that an ask rule names',
      file('read_file', 'read', 'a/b'),
      'ask ask ask ask ask ask',
      NEVER,
      ask('read(a/**)'),
    ],
    ['a plan that an ask rule names', plan, 'ask ask ask ask ask ask', NEVER, ask('update_plan')],
    [
      'any change, by a worker that only reads',
      file('edit_file', 'write', 'a'),
      NEVER,
      NEVER,
      { workerReadOnly: true },
    ],
    ['any command, by such a worker', shell('npm test'), NEVER, NEVER, { workerReadOnly: true }],
    ['a fetch, by such a worker', fetchUrl, NEVER, NEVER, { workerReadOnly: true }],
    ['reading, by such a worker', shell('cat a'), ALWAYS, ALWAYS, { workerReadOnly: true }],
  ])('%s', (_name, request, withPerson, alone, more = {}) => {
    expect(cells(request, more)).toBe(withPerson);
    expect(cells(request, { ...more, canAsk: false })).toBe(alone);
  });

  it.each<[string, Request, string]>([
    ['the very command', shell('rm -rf build'), 'shell(rm -rf build)'],
    ['the very command, opaque', shell('if ls'), 'shell(if ls)'],
    ['the very file', file('read_file', 'read', '.env'), 'read(./.env)'],
    ['files of that name', file('read_file', 'read', 'a/.env'), 'read(**/.env)'],
  ])('a rule for %s frees what is asked for in every mode', (_name, request, rule) => {
    const rules = { deny: [], ask: [], allow: parseRuleList([rule]) };
    expect(cells(request, { rules, canAsk: false })).toBe(ALWAYS);
  });

  it.each<[string, Request, string]>([
    ['for all commands', shell('rm -rf build'), 'shell'],
    ['for a pattern', shell('rm -rf build'), 'shell(rm *)'],
    ['for other spaces', shell('rm  -rf build'), 'shell(rm -rf build)'],
    ['for all files', file('read_file', 'read', '.env'), 'read'],
    ['for files by a pattern', file('read_file', 'read', '.env'), 'read(**)'],
    ['for a protected path', file('write_file', 'write', '.git/config'), 'write(./.git/config)'],
    ['for a command that changes one', shell('touch .git/config'), 'shell(touch .git/config)'],
  ])('a rule %s does not', (_name, request, rule) => {
    const rules = { deny: [], ask: [], allow: parseRuleList([rule]) };
    expect(cells(request, { rules })).toBe(cells(request, {}));
  });
});
