import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.js';
import { createTools } from '../../src/tools/index.js';
import { dialectHint } from '../../src/tools/shell/dialect-hint.js';
import { openShell } from '../../src/tools/shell/open-shell.js';
import { createShellTool } from '../../src/tools/shell/tool.js';
import { commandLineFor, kindOf, SHELL_NAMES, type ShellName, shellNamed } from '../../src/tools/shell/which-shell.js';
import { bench, tempFolder } from './bench.js';

const UTF8 = 'try{$OutputEncoding=[Console]::OutputEncoding=[Text.UTF8Encoding]::new($false)}catch{};';

const ARGUMENTS: Readonly<Record<ShellName, readonly string[]>> = {
  bash: ['--noprofile', '--norc', '-c', 'exec 2>&1; a "b"'],
  sh: ['-c', 'exec 2>&1; a "b"'],
  dash: ['-c', 'exec 2>&1; a "b"'],
  zsh: ['-f', '-c', 'exec 2>&1; a "b"'],
  fish: ['--no-config', '-c', 'a "b"'],
  pwsh: ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command', `${UTF8}a "b"`],
  powershell: ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command', `${UTF8}a "b"`],
  cmd: ['/d', '/s', '/c', '"chcp 65001>nul&a "b""'],
};

describe('the kind of a shell', () => {
  it.each(SHELL_NAMES)('tells the arguments of %s', (name) => {
    expect(commandLineFor(kindOf(name), 'a "b"')).toEqual({
      args: ARGUMENTS[name],
      verbatimArguments: name === 'cmd',
      hasSidePipe: false,
    });
  });

  it.each<[string, ShellName]>([
    ['bash', 'bash'],
    ['/usr/local/bin/zsh', 'zsh'],
    ['C:\\Program Files\\PowerShell\\7\\pwsh.exe', 'pwsh'],
    ['C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\PowerShell.EXE', 'powershell'],
    ['CMD.exe', 'cmd'],
  ])('is told by the file name: %s', (file, name) => {
    expect(shellNamed(file)).toBe(name);
  });

  it.each(['nu', 'python3', '/bin/bash-5.2', 'bash.sh', '/usr/bin/', 'constructor', 'sh -x'])(
    'is refused where it is none that can be called: %s',
    (file) => {
      expect(() => shellNamed(file)).toThrow(ConfigError);
      expect(() => shellNamed(file)).toThrow('CHATCLI_SHELL');
      expect(() => createTools({ shell: file })).toThrow(ConfigError);
    },
  );
});

describe("the tool's text", () => {
  it.each(SHELL_NAMES)('names %s', (name) => {
    expect(createShellTool({ shell: `/bin/${name}` }).doc).toContain(`Runs a ${kindOf(name).title} command`);
  });

  it('is that of bash where none is set', () => {
    expect(createShellTool().doc).toBe(createShellTool({ shell: '/bin/bash' }).doc);
  });
});

describe('what a call is about', () => {
  it.each<[ShellName, string | undefined]>([
    ['bash', undefined],
    ['sh', undefined],
    ['dash', undefined],
    ['zsh', 'zsh'],
    ['fish', 'fish'],
    ['pwsh', 'PowerShell (pwsh)'],
    ['powershell', 'Windows PowerShell 5.1'],
    ['cmd', 'cmd.exe'],
  ])('tells the policy whether commands of %s can be read', (name, shell) => {
    const subject = { kind: 'command', command: 'ls', cwd: '.', ...(shell !== undefined && { shell }) };
    expect(createShellTool({ shell: `/bin/${name}` }).subjects({ command: 'ls' })).toEqual([subject]);
  });
});

async function folders(): Promise<{ bin: string; work: string }> {
  const folder = await tempFolder();
  const [bin, work] = [join(folder, 'bin'), join(folder, 'work')];
  for (const path of [bin, join(work, 'bin'), join(bin, 'dash')]) mkdirSync(path, { recursive: true });
  for (const path of [join(bin, 'pwsh'), join(work, 'bin', 'pwsh'), join(work, 'bin', 'zsh'), join(bin, 'fish')]) {
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, path.endsWith('fish') ? 0o644 : 0o755);
  }
  return { bin, work };
}

describe('the shell that is set', () => {
  const search = (setting: string | undefined, { bin, work }: { bin: string; work: string }) =>
    openShell({ setting, path: `relative:${join(work, 'bin')}:${bin}`, roots: [work] });

  it('is found by its name, but not in the workspace', async () => {
    const places = await folders();
    expect(await search('pwsh', places)).toBe(join(places.bin, 'pwsh'));
    await expect(search('zsh', places)).rejects.toThrow(/CHATCLI_SHELL is zsh, and no folder of the PATH outside/);
  });

  it('is what an absolute path names, in the workspace too where each command needs a question', async () => {
    const places = await folders();
    expect(await search(join(places.work, 'bin/zsh'), places)).toBe(join(places.work, 'bin/zsh'));
  });

  it('is nothing that a model could change where commands run without a question', async () => {
    const places = await folders();
    const [inside, leadsIn, leadsOut] = [join(places.work, 'sh'), join(places.bin, 'bash'), join(places.work, 'bash')];
    writeFileSync(inside, '#!/bin/sh\n');
    chmodSync(inside, 0o755);
    symlinkSync(inside, leadsIn);
    symlinkSync('/bin/sh', leadsOut);
    for (const setting of [inside, leadsIn, 'bash', leadsOut])
      await expect(search(setting, places)).rejects.toThrow(/in the workspace, where a model may change it/);
  });

  it('is not looked for where none is set', async () => {
    expect(await openShell({ setting: undefined, path: '/no/such/folder', roots: [] })).toBeUndefined();
  });

  it.each([
    ['is not there', '/no/such/folder/pwsh', 'is no program that can be run'],
    ['can not be run', 'BIN/fish', 'is no program that can be run'],
    ['is a folder', 'BIN/dash', 'is no program that can be run'],
    ['is a relative path', './bin/pwsh', 'has to be absolute'],
    ['is no shell', 'BIN/node', 'no shell that can be used here'],
  ])('is refused where it %s', async (_name, setting, reason) => {
    const places = await folders();
    const refused = search(setting.replace('BIN', places.bin), places);
    await expect(refused).rejects.toBeInstanceOf(ConfigError);
    await expect(refused).rejects.toThrow(reason);
    await expect(refused).rejects.toThrow('CHATCLI_SHELL');
  });
});

describe('a shell that is a POSIX one', () => {
  it.each(['bash', 'sh'])('runs commands and keeps the order of what %s prints', async (name) => {
    const { call, context } = await bench();
    const shell = await openShell({ setting: name, path: '/usr/bin:/bin', roots: [] });
    const result = await call(createShellTool({ shell }), { command: 'echo a; echo b >&2; echo c; exit 3' });
    expect(result).toMatchObject({ ok: false, output: 'a\nb\nc\n(cwd: .)\nexit code 3' });
    expect(context.childEnvironment).toEqual({});
  });
});

describe('a command of more than one line', () => {
  it('is not run by cmd, which would leave out all but the first', async () => {
    const { call } = await bench();
    const result = await call(createShellTool({ shell: '/no/such/cmd' }), { command: 'echo a\necho b' });
    expect(result).toMatchObject({ ok: false, code: 'one-line-only', output: expect.stringContaining('&&') });
  });
});

describe('a hint', () => {
  const unknown = (name: string) => `${name}: The term '${name}' is not recognized as a name of a cmdlet`;
  it.each<[ShellName, string, string, RegExp]>([
    ['powershell', 'npm ci && npm test', 'CategoryInfo : ParserError: (:) []', /no && and no \|\|/],
    ['pwsh', 'cat <<EOF\na\nEOF', 'ParserError: Missing file specification', /no here documents/],
    ['pwsh', 'export A=b; npm test', unknown('export'), /\$env:NAME/],
    ['pwsh', 'CI=1 npm test', unknown('CI=1'), /\$env:NAME/],
    ['powershell', 'npm test 2>/dev/null', "Could not find a part of the path 'C:\\dev\\null'.", /\$null/],
    ['pwsh', 'rm -rf build', "A parameter cannot be found that matches parameter name 'rf'.", /-Recurse -Force/],
    ['pwsh', 'if [ -f a ]; then ls; fi', 'ParserError: Missing condition', /PowerShell, not bash/],
    ['cmd', 'ls -la', "'ls' is not recognized as an internal or external command", /cmd\.exe, not bash/],
    ['bash', 'Get-ChildItem | ForEach-Object { $_.Name }', 'bash: Get-ChildItem: command not found', /not PowerShell/],
    ['zsh', 'echo $env:PATH | Select-String a', 'zsh: command not found: Select-String', /not PowerShell/],
    ['bash', 'powershell -Command "ls | % { $_.Name }"', 'The term .Name', /single quotes/],
    ['dash', '[[ a == a ]] && echo b', 'dash: 1: [[: not found', /POSIX sh/],
    ['sh', 'x=(a b)', 'sh: 1: Syntax error: "(" unexpected', /POSIX sh/],
    ['fish', 'cat <<EOF\na\nEOF', 'fish: Expected a string, but found a redirection', /this shell is fish/],
  ])('comes from %s for `%s`', (shell, command, output, hint) => {
    expect(dialectHint(shell, { command, output, exitCode: shell === 'fish' ? 0 : 1 })).toMatch(hint);
  });

  it.each<[string, ShellName, string, string]>([
    ['a test that fails', 'pwsh', 'npm test', 'Expected 1, got 2'],
    ['what PowerShell 7 knows', 'pwsh', 'npm ci && npm test', 'ParserError'],
    ['a program that is not installed', 'bash', 'jq . a.json', 'bash: jq: command not found'],
    ['what stands far behind', 'powershell', `${'a'.repeat(2_000)} && b`, 'ParserError'],
  ])('does not come for %s', (_name, shell, command, output) => {
    expect(dialectHint(shell, { command, output, exitCode: 1 })).toBeUndefined();
  });

  it('does not come for a command that went well', () => {
    const ended = { command: 'cat a.txt; [[ a ]]', output: 'sh: [[: not found', exitCode: 0 };
    expect(dialectHint('sh', ended)).toBeUndefined();
  });
});
