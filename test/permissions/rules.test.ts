import { homedir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { ConfigError, UsageError } from '../../src/errors.js';
import type { Place } from '../../src/permissions/place.js';
import { ruleAllows, ruleRestricts } from '../../src/permissions/rule-match.js';
import { readRuleText } from '../../src/permissions/rule-texts.js';
import { parseRule, parseRuleList, sessionRule } from '../../src/permissions/rules.js';
import type { Permission, Request, RuleKind, RuleSource, RuleText } from '../../src/permissions/types.js';
import { createTools } from '../../src/tools/index.js';

const PLACE: Place = { roots: ['/work/project', '/work/other'], home: '/home/me' };
const FILE: RuleSource = { kind: 'settings', place: '/home/me/settings.json:7' };

const shell = (command: string, cwd = '.'): Request => ({
  tool: 'shell',
  permission: 'execute',
  subjects: [{ kind: 'command', command, cwd }],
});
const file = (tool: string, path: string, permission: Permission = 'read'): Request => ({
  tool,
  permission,
  subjects: [{ kind: 'path', path }],
});
const fetchUrl = (url: string): Request => ({
  tool: 'fetch_url',
  permission: 'network',
  subjects: [{ kind: 'url', url }],
});
const parsed = (text: string, kind: RuleKind = 'allow') => parseRule(text, { kind, source: FILE });

const READING = ['read_file', 'list_files', 'search_files'];
const SHELL = ['shell', 'shell_output', 'shell_stop'];

describe('a name in a rule', () => {
  it.each([
    ['read', READING],
    ['edit', ['edit_file', 'apply_patch']],
    ['write', ['write_file']],
    ['shell', SHELL],
    ['fetch', ['fetch_url']],
    ['agent', ['delegate']],
    ['search_files', ['search_files']],
    ['Bash', SHELL],
    ['Read', ['read_file']],
    ['WebFetch', ['fetch_url']],
    ['Task', ['delegate']],
    ['mcp__github__create_issue', ['mcp__github__create_issue']],
    ['mcp__github__*', ['mcp__github__*']],
  ])('%s covers %j', (text, tools) => {
    expect(parseRule(text)).toMatchObject({ text, tools, spec: undefined });
  });

  it('covers each tool that there is, by its own name', () => {
    for (const name of createTools().keys())
      expect(parseRule(name).tools).toEqual([name === 'shell' ? SHELL : [name]].flat());
  });

  it('of all tools of a server covers those and no other', () => {
    const rule = parsed('mcp__github__*', 'deny');
    const call = (tool: string): Request => ({ tool, permission: 'network', subjects: [] });
    expect(ruleRestricts(rule, call('mcp__github__search'), PLACE)).toBe(true);
    expect(ruleRestricts(rule, call('mcp__gitlab__search'), PLACE)).toBe(false);
    expect(ruleRestricts(rule, shell('ls'), PLACE)).toBe(false);
  });
});

describe('a rule that can not be read', () => {
  const BAD: readonly (readonly [string, string, RegExp])[] = [
    ['an unknown tool', 'shel(npm test)', /names no tool/],
    ['nothing', '', /names no tool/],
    ['an inherited name', 'toString', /names no tool/],
    ['another inherited name', '__proto__', /names no tool/],
    ['an inherited name with a spec', 'constructor(x)', /names no tool/],
    ['half a name of a server', 'mcp__github', /names no tool/],
    ['a star for all servers', 'mcp__*', /names no tool/],
    ['an empty spec', 'shell()', /nothing in its parentheses/],
    ['a spec where none can stand', 'agent(coder)', /can have nothing in parentheses/],
    ['a spec for a server', 'mcp__a__b(x)', /can have nothing in parentheses/],
    ['a missing parenthesis', 'shell(npm test', /no closing parenthesis/],
    ['text behind the parenthesis', 'shell(npm test) x', /no closing parenthesis/],
    ['a star behind words that are none', 'shell(a | b *)', /plain words/],
    ['a path that turns it round', 'read(!secret)', /turn the rule round/],
    ['a path upwards', 'read(../x)', /"\.\."/],
    ['an open bracket', 'read(a[b)', /brackets/],
    ['no path', 'read(./)', /names no path/],
    ['an address with a scheme', 'fetch(https://x.org)', /domain:HOST/],
    ['an address with a path', 'fetch(domain:x.org/a)', /domain:HOST/],
    ['an address with a port', 'fetch(domain:x.org:80)', /domain:HOST/],
    ['a star for all addresses', 'fetch(domain:*)', /domain:HOST/],
  ];
  it.each(BAD)('is a usage error in a flag: %s', (_name, text, message) => {
    expect(() => parseRule(text)).toThrow(UsageError);
    expect(() => parseRule(text)).toThrow(message);
  });

  it.each(BAD)('is a configuration error with file and line in a settings file: %s', (_name, text, message) => {
    for (const kind of ['deny', 'ask', 'allow'] as const) {
      expect(() => parsed(text, kind)).toThrow(ConfigError);
      expect(() => parsed(text, kind)).toThrow(message);
      expect(() => parsed(text, kind)).toThrow('/home/me/settings.json:7');
    }
  });

  it('is one that would never fit what its author wants to stop', () => {
    expect(() => parsed('shell(rm * -rf)', 'deny')).toThrow('may only be its last word');
    expect(() => parsed('shell(rm *.ts)', 'ask')).toThrow('may only be its last word');
    expect(parsed('shell(ls *.ts)').spec).toMatchObject({ text: 'ls *.ts', isOpen: false });
  });
});

describe('parseRuleList', () => {
  it.each([
    ['several values', ['read', 'shell(npm test)'], ['read', 'shell(npm test)']],
    ['commas between rules', ['read, edit,shell(npm test)'], ['read', 'edit', 'shell(npm test)']],
    ['commas inside parentheses', ['shell(a, b),edit'], ['shell(a, b)', 'edit']],
    ['nested parentheses', ['shell(f (a, b), c),edit'], ['shell(f (a, b), c)', 'edit']],
    ['parentheses and commas in quotes', [`shell(echo ":), ("),edit`], [`shell(echo ":), (")`, 'edit']],
    ['a quote inside the other kind', [`shell(echo "it's, so"),edit`], [`shell(echo "it's, so")`, 'edit']],
    ['escaped characters', [String.raw`shell(echo \), \"),edit`], [String.raw`shell(echo \), \")`, 'edit']],
    ['empty items', ['', ' , read ,'], ['read']],
  ])('splits at %s', (_name, values, rules) => {
    expect(parseRuleList(values).map(({ text }) => text)).toEqual(rules);
  });

  it.each(['shell(a', 'shell(a))', `shell(echo "a)`, 'a),shell(b'])('refuses what does not match: %j', (value) => {
    expect(() => parseRuleList([value])).toThrow(UsageError);
  });
});

describe('a rule with a command', () => {
  it.each([
    ['the same text', 'shell(npm test)', 'npm test', true],
    ['the same words', 'shell(npm test)', `npm  'test' `, true],
    ['a longer command', 'shell(npm test)', 'npm test -- --watch', false],
    ['a chain', 'shell(npm test)', 'npm test && rm x', false],
    ['a second line', 'shell(npm test)', 'npm test\nrm x', false],
    ['a job in the background', 'shell(npm test)', 'npm test &', false],
    ['a redirect', 'shell(npm test)', 'npm test > x', false],
    ['a variable before it', 'shell(npm test)', 'X=1 npm test', false],
    ['the very text of what is no words', 'shell(a && b | c)', 'a && b | c', true],
    ['the very text with an expansion', 'shell(echo $X)', 'echo $X', true],
    ['a star: more words', 'shell(npm run *)', 'npm run build -- --prod', true],
    ['a star: no more words', 'shell(npm run *)', 'npm run', true],
    ['a star stands behind a whole word', 'shell(npm run *)', 'npm runx', false],
    ['the colon form', 'Bash(npm run:*)', 'npm run build', true],
    ['the colon form is no start of a word', 'Bash(npm run:*)', 'npm runx', false],
    ['a star and a second command', 'shell(ls *)', 'ls\ntouch pwn', false],
    ['a star and a job', 'shell(ls *)', 'ls & touch pwn', false],
    ['a star and a pipe', 'shell(ls *)', 'ls |& tee pwn', false],
    ['a star and a redirect', 'shell(ls *)', 'ls > pwn', false],
    ['a star and a substitution', 'shell(ls *)', 'ls >(tee pwn)', false],
    ['a star and an expansion', 'shell(ls *)', 'ls $(touch pwn)', false],
    ['a star and a pattern', 'shell(ls *)', 'ls *', false],
    ['a star in quotes is a star', "shell(ls '*')", 'ls x', false],
    ['a star for every command of words', 'shell(*)', 'touch x', true],
    ['a star for every command, but no expansion', 'shell(*)', 'touch $x', false],
    ['a program by its path', 'shell(npm test)', './npm test', false],
    ['what a wrapper runs', 'shell(env *)', 'env touch x', false],
  ])('lets pass %s: %s, %j → %s', (_name, rule, command, expected) => {
    expect(ruleAllows(parseRule(rule), shell(command), PLACE)).toBe(expected);
  });

  it.each([
    ['.', true],
    ['./', true],
    ['sub/..', true],
    ['/work/project/', true],
    ['sub', false],
    ['..', false],
    ['/work/other', false],
  ])('lets it pass in the workspace root only, and forbids it everywhere: %j → %s', (cwd, expected) => {
    for (const text of ['shell(npm test)', 'shell(npm *)']) {
      expect(ruleAllows(parseRule(text), shell('npm test', cwd), PLACE)).toBe(expected);
      expect(ruleRestricts(parsed(text, 'deny'), shell('npm test', cwd), PLACE)).toBe(true);
    }
    expect(ruleAllows(parseRule('shell'), shell('npm test', cwd), PLACE)).toBe(true);
  });

  it.each([
    ['other blanks', 'shell(npm publish)', ' npm  publish ', true],
    ['quotes', 'shell(npm publish)', `'npm' "publish"`, true],
    ['more words', 'shell(npm publish)', 'npm publish --dry-run', false],
    ['a path to the program', 'shell(curl *)', '/usr/bin/curl x', true],
    ['wrappers', 'shell(curl *)', 'env -i timeout 5 /usr/bin/curl x', true],
    ['a shell in a shell', 'shell(curl *)', `sh -c "cu''rl x"`, true],
    ['what find runs', 'shell(curl *)', `find . -exec curl x '{}' ';'`, true],
    ['a part of a chain', 'shell(curl *)', 'ls && (cd x; curl y) > z', true],
    ['a substitution', 'shell(curl *)', 'echo "$(curl x)"', true],
    ['a function', 'shell(curl *)', 'f() { curl x; }; f', true],
    ['the last of many', 'shell(curl *)', `${'ls; '.repeat(300)}curl x`, true],
    ['a global flag of git', 'shell(git push *)', 'git -C . push origin', true],
    ['a word that is no program', 'shell(curl *)', 'echo curl x', false],
  ])('forbids a command however it is written: %s', (_name, rule, command, expected) => {
    expect(ruleRestricts(parsed(rule, 'deny'), shell(command), PLACE)).toBe(expected);
  });
});

describe('a rule with a path', () => {
  it.each([
    ['a name at any depth', 'read(.env)', 'a/b/.env', true],
    ['a name at any depth, with stars', 'read(**/.env)', '.env', true],
    ['another name', 'read(.env)', '.env.example', false],
    ['a folder', 'read(secret/**)', 'secret/a/b', true],
    ['a folder is not the start of a name', 'read(secret/**)', 'secret-not/a', false],
    ['a folder by its name', 'read(secret)', 'x/secret/a', true],
    ['a folder of the root', 'read(./secret)', 'x/secret/a', false],
    ['a folder of the root, with a slash', 'read(/secret)', 'secret/a', true],
    ['other letters', 'read(secret/**)', 'SECRET/a', true],
    ['an absolute path', 'read(//etc/**)', '/etc/passwd', true],
    ['a home', 'read(~/.config/**)', '/home/me/.config/x', true],
    ['a folder beside', 'read(secret/**)', '/work/other/secret/x', true],
    ['a name outside', 'read(*.key)', '/elsewhere/a.key', true],
    ['a spelling with dots', 'read(secret/**)', 'src/../secret/x', true],
  ])('forbids reading: %s, %s, %s → %s', (_name, rule, path, expected) => {
    for (const tool of READING) expect(ruleRestricts(parsed(rule, 'deny'), file(tool, path), PLACE)).toBe(expected);
    // Both tell what is in a file that they do not find something in.
    expect(ruleRestricts(parsed(rule, 'deny'), file('edit_file', path, 'write'), PLACE)).toBe(expected);
  });

  it.each([
    ['an operand', 'cat secret/a', true],
    ['an operand in quotes', `cat 'secret'/"a"`, true],
    ['a part of a pipe', 'ls | grep -f secret/a', true],
    ['a redirect', 'cat < secret/a', true],
    ['the value of a flag', 'grep --file=secret/a x', true],
    ['a file of curl', 'curl -d @secret/a x', true],
    ['a wrapper', 'env cat secret/a', true],
    ['a spelling with dots', 'cat src/../secret/a', true],
    ['an expansion of home', 'cat ~/../../work/project/secret/a', true],
    ['another folder', 'cat src/a', false],
    ['a pattern', 'grep secret/a src/x', false],
  ])('reaches what a command names: %s, %s → %s', (_name, command, expected) => {
    expect(ruleRestricts(parsed('read(secret/**)', 'deny'), shell(command), PLACE)).toBe(expected);
  });

  it('counts from the folder that a command starts in', () => {
    expect(ruleRestricts(parsed('read(secret/**)', 'deny'), shell('cat a', 'secret'), PLACE)).toBe(true);
    expect(ruleRestricts(parsed('read(secret/**)', 'deny'), shell('cat secret/a', 'src'), PLACE)).toBe(false);
  });

  it.each([
    ['edit(src/**)', 'edit_file', 'src/a/b.ts', true],
    ['edit(src/**)', 'edit_file', 'test/a.ts', false],
    ['edit(src/**)', 'write_file', 'src/a.ts', false],
    ['write(./a.ts)', 'write_file', 'a.ts', true],
    ['write(./a.ts)', 'write_file', 'sub/a.ts', false],
    [String.raw`write(./a\[1\].ts)`, 'write_file', 'a[1].ts', true],
    [String.raw`write(./a\[1\].ts)`, 'write_file', 'a1.ts', false],
  ])('%s lets %s of %s pass: %s', (rule, tool, path, expected) => {
    expect(ruleAllows(parseRule(rule), file(tool, path, 'write'), PLACE)).toBe(expected);
  });

  it('needs all of the files of a call for an allow rule, and one of them for a deny rule', () => {
    const both: Request = {
      ...file('apply_patch', 'src/a', 'write'),
      subjects: ['src/a', 'x'].map((path) => ({ kind: 'path', path })),
    };
    expect(ruleAllows(parseRule('edit(src/**)'), both, PLACE)).toBe(false);
    expect(ruleRestricts(parsed('edit(src/**)', 'deny'), both, PLACE)).toBe(true);
  });

  it.each(['edit(secret/**)', 'write(secret/**)'])(
    'keeps a file from all that changes it, by either name: %s',
    (rule) => {
      const deny = parsed(rule, 'deny');
      for (const tool of ['edit_file', 'apply_patch', 'write_file']) {
        expect(ruleRestricts(deny, file(tool, 'secret/a', 'write'), PLACE), tool).toBe(true);
      }
      for (const command of ['echo x > secret/a', 'cp x secret/a', 'sed -i s/a/b/ secret/a', 'ls | tee secret/a']) {
        expect(ruleRestricts(deny, shell(command), PLACE), command).toBe(true);
      }
      for (const command of ['cat secret/a', 'sed -n 1p secret/a', 'cp secret/a x', 'echo x > src/a']) {
        expect(ruleRestricts(deny, shell(command), PLACE), command).toBe(false);
      }
      expect(ruleRestricts(deny, file('read_file', 'secret/a'), PLACE)).toBe(false);
    },
  );

  it('follows where a path leads', () => {
    const place: Place = { ...PLACE, realPath: (path) => path.replace('/work/project/link', '/work/project/secret') };
    expect(ruleRestricts(parsed('read(secret/**)', 'deny'), file('read_file', 'link/a'), place)).toBe(true);
    expect(ruleAllows(parseRule('edit(link/**)'), file('edit_file', 'link/a', 'write'), place)).toBe(false);
  });
});

describe('a rule with an address', () => {
  it.each([
    ['domain:x.org', 'https://x.org/a', true],
    ['domain:x.org', 'https://X.ORG./a', true],
    ['domain:x.org', 'http://x.org:8080/', true],
    ['domain:x.org', 'https://a.x.org/', false],
    ['domain:x.org', 'https://x.org.evil.com/', false],
    ['domain:x.org', 'https://x.org@evil.com/', false],
    ['domain:x.org', 'no address', false],
    ['domain:*.x.org', 'https://a.b.x.org/', true],
    ['domain:*.x.org', 'https://x.org/', false],
    ['domain:*.x.org', 'https://evilx.org/', false],
  ])('%s is for %s: %s', (spec, url, expected) => {
    expect(ruleAllows(parseRule(`fetch(${spec})`), fetchUrl(url), PLACE)).toBe(expected);
    expect(ruleRestricts(parsed(`WebFetch(${spec})`, 'deny'), fetchUrl(url), PLACE)).toBe(expected);
  });
});

describe('a rule for the session', () => {
  it('is for the very tool that was asked for, whatever its name means in a rule', () => {
    expect(sessionRule('edit', 'edit').tools).toEqual(['edit']);
    expect(sessionRule('deploy', 'deploy(go)')).toMatchObject({
      tools: ['deploy'],
      spec: { kind: 'command', text: 'go' },
    });
  });
});

describe('a rule with examples', () => {
  const text = (more: Partial<RuleText>): RuleText => ({
    kind: 'deny',
    text: 'shell(git push *)',
    source: `${homedir()}/settings.json:3`,
    scope: 'user',
    ...more,
  });
  it.each<[string, Partial<RuleText>]>([
    ['a command that it fits', { match: ['git push origin', 'shell(git -C x push)'] }],
    ['a command that it does not fit', { notMatch: ['git pull'] }],
    ['a path', { text: 'read(**/.env)', match: ['sub/.env', 'read(.env)'], notMatch: ['.env.example'] }],
    [
      'an address',
      { text: 'fetch(domain:*.x.org)', match: ['https://a.x.org/b', 'domain:a.x.org'], notMatch: ['x.org'] },
    ],
    [
      'parts of a chain',
      { kind: 'allow', text: 'shell(npm run *)', match: ['npm run a && ls'], notMatch: ['npm run a && b'] },
    ],
    ['a tool', { text: 'agent', match: ['delegate'], notMatch: ['shell'] }],
  ])('is taken: %s', (_name, more) => {
    expect(readRuleText(text(more), PLACE).text).toBe(text(more).text);
  });

  it.each<[string, Partial<RuleText>, string]>([
    ['one that it must fit', { match: ['git pull'] }, '"match" "git pull"'],
    ['one that it must not fit', { notMatch: ['git push -f'] }, '"notMatch" "git push -f"'],
    ['an empty one', { match: ['shell()'] }, 'is empty'],
  ])('is refused with file and line for %s', (_name, more, message) => {
    expect(() => readRuleText(text(more), PLACE)).toThrow(ConfigError);
    expect(() => readRuleText(text(more), PLACE)).toThrow(message);
    expect(() => readRuleText(text(more), PLACE)).toThrow('/settings.json:3');
  });

  it.each(['read({a,b})', 'read($HOME/x)', 'edit(~root/x)', 'write(%APPDATA%/x)'])(
    'that would fit no file is refused where it forbids: %s',
    (text) => {
      const written = { kind: 'deny', source: { kind: 'settings', place: 'settings.json:1' } } as const;
      expect(() => parseRule(text, written)).toThrow(/can't be used/);
      expect(parseRule(text).text).toBe(text);
    },
  );
});
