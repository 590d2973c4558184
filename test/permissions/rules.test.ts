import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/errors.js';
import { parseRule, parseRuleList, ruleAllows, ruleDenies } from '../../src/permissions/rules.js';
import type { Request } from '../../src/permissions/types.js';
import { createTools } from '../../src/tools/index.js';

const ROOT = '/work/project';
const shell = (command: string, cwd = '.'): Request => ({
  tool: 'shell',
  permission: 'execute',
  subjects: [{ kind: 'command', command, cwd }],
});

describe('parseRule', () => {
  it.each([
    ['read', ['read_file', 'list_files', 'search_files'], undefined],
    ['edit', ['edit_file', 'apply_patch'], undefined],
    ['write', ['write_file'], undefined],
    ['shell', ['shell', 'shell_output', 'shell_stop'], undefined],
    ['fetch', ['fetch_url'], undefined],
    ['agent', ['delegate'], undefined],
    ['search_files', ['search_files'], undefined],
    ['Bash', ['shell', 'shell_output', 'shell_stop'], undefined],
    ['WebFetch', ['fetch_url'], undefined],
    ['shell(npm test)', ['shell', 'shell_output', 'shell_stop'], 'npm test'],
    [' Bash( npm test ) ', ['shell', 'shell_output', 'shell_stop'], 'npm test'],
    ['shell(echo $(date) (x))', ['shell', 'shell_output', 'shell_stop'], 'echo $(date) (x)'],
    ['shell(ls *.ts)', ['shell', 'shell_output', 'shell_stop'], 'ls *.ts'],
  ])('reads %j', (text, tools, spec) => {
    expect(parseRule(text)).toEqual({ text: text.trim(), tools, spec });
  });

  it.each([
    ['an unknown tool', 'shel(npm test)', /names no tool/],
    ['nothing', '', /names no tool/],
    ['an inherited name', 'toString', /names no tool/],
    ['another inherited name', '__proto__', /names no tool/],
    ['a spec for a file tool', 'read(**/.env)', /only shell takes a command.*Write "read" alone/],
    ['a spec for fetch', 'WebFetch(domain:x.org)', /only shell takes a command/],
    ['an empty command', 'shell()', /has no command/],
    ['a star alone', 'shell(*)', /patterns are not supported yet/],
    ['a star as the last word', 'shell(npm run *)', /patterns are not supported yet/],
    ['the colon form', 'Bash(npm run:*)', /patterns are not supported yet/],
    ['a missing parenthesis', 'shell(npm test', /no closing parenthesis/],
    ['text behind the parenthesis', 'shell(npm test) x', /no closing parenthesis/],
  ])('refuses %s', (_name, text, message) => {
    expect(() => parseRule(text)).toThrow(UsageError);
    expect(() => parseRule(text)).toThrow(message);
  });
});

describe('the tools that an error offers', () => {
  const offered = () => {
    try {
      parseRule('nothing');
    } catch (thrown) {
      return (thrown as Error).message.replace(/^.*the tools are: |\.$/g, '').split(', ');
    }
    return [];
  };

  it('are all that there are, and no other', () => {
    const all = [...createTools().keys()];
    for (const tool of all) expect(offered()).toContain(tool);
    for (const name of offered()) expect(parseRule(name).tools.some((tool) => all.includes(tool))).toBe(true);
  });

  it.each(['apply_patch', 'fetch', 'fetch_url', 'WebFetch', 'shell_output', 'shell_stop', 'update_plan', 'ask_user'])(
    'leave out %s, which a rule may name already',
    (name) => {
      expect(parseRule(name).text).toBe(name);
      if (!parseRule(name).tools.some((tool) => createTools().has(tool))) expect(offered()).not.toContain(name);
    },
  );
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

describe('matching', () => {
  it.each([
    ['the same command', 'npm test', true],
    ['another blank', 'npm  test', false],
    ['a longer command', 'npm test -- --watch', false],
    ['a chain', 'npm test && rm x', false],
    ['a second line', 'npm test\nrm x', false],
  ])('an allow rule with %s: %j → %s', (_name, command, expected) => {
    expect(ruleAllows(parseRule('shell(npm test)'), shell(command), ROOT)).toBe(expected);
  });

  it.each([
    ['.', true],
    ['./', true],
    ['sub/..', true],
    ['/work/project', true],
    ['/work/project/', true],
    ['sub', false],
    ['..', false],
    ['/work/project/sub', false],
    ['/work/other', false],
  ])('an allow rule with a command counts in the workspace root only: %j → %s', (cwd, expected) => {
    expect(ruleAllows(parseRule('shell(npm test)'), shell('npm test', cwd), ROOT)).toBe(expected);
    expect(ruleAllows(parseRule('shell'), shell('npm test', cwd), ROOT)).toBe(true);
    expect(ruleDenies(parseRule('shell(npm test)'), shell('npm test', cwd))).toBe(true);
  });

  it.each([
    ['npm publish', true],
    [' npm  publish ', true],
    [`'npm' "publish"`, true],
    ['npm publish --dry-run', false],
  ])('a deny rule covers a command however it is written: %j → %s', (command, expected) => {
    expect(ruleDenies(parseRule('shell(npm publish)'), shell(command))).toBe(expected);
  });

  it('covers a whole tool without a command', () => {
    expect(ruleAllows(parseRule('shell'), shell('anything; at all'), ROOT)).toBe(true);
    expect(ruleAllows(parseRule('edit'), shell('x'), ROOT)).toBe(false);
  });
});
