import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { calls, says } from '../fixtures/model-server.js';
import { makePlace, type Place } from './place.js';
import { jsonOf, lastResult } from './reading.js';
import { type PlayOptions, play } from './support.js';

const UTF8 = 'try{$OutputEncoding=[Console]::OutputEncoding=[Text.UTF8Encoding]::new($false)}catch{};';
const ARGV = ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command'];
/** Says what it was called with, one argument a line. */
const TELLS = '#!/bin/sh\nprintf \'<%s>\\n\' "$@"\necho "Zoë 漢字"\necho wrong >&2\n';

/** A place with a program of that name on the PATH, outside the workspace. */
function placeWith(name: string, script = TELLS): Place {
  const place = makePlace();
  const file = join(place.root, '..', 'bin', name);
  writeFileSync(file, script);
  chmodSync(file, 0o755);
  return place;
}

const run = (command: string, flags: readonly string[], options: PlayOptions) =>
  play([calls('shell', { command }), says('done')], ['coder', 'x', '--output-format', 'json', ...flags], options);

const ALL = ['--dangerously-skip-permissions'];

describe('CHATCLI_SHELL', () => {
  it('names the shell to the model and calls it as documented, with both streams in the result [pain 78]', async () => {
    const { requests, ...ran } = await run('echo "a b"; $_', ALL, {
      place: placeWith('pwsh'),
      env: { CHATCLI_SHELL: 'pwsh' },
    });

    expect(JSON.stringify(requests[0]?.body)).toContain('Runs a PowerShell (pwsh) command and waits for it');
    const lines = lastResult({ ...ran, requests }).split('\n');
    expect(lines.slice(0, 5)).toEqual([...ARGV, `${UTF8}echo "a b"; $_`].map((argument) => `<${argument}>`));
    expect(lines.slice(5, 7).toSorted()).toEqual(['Zoë 漢字', 'wrong']);
    expect(lines.slice(7)).toEqual(['(cwd: .)', 'exit code 0']);
    expect(ran.exitCode).toBe(0);
  });

  it('counts in an env file, and as an absolute path', async () => {
    const place = placeWith('PowerShell.exe');
    const file = join(place.root, '..', 'bin', 'PowerShell.exe');
    writeFileSync(join(place.settings, '.env'), `CHATCLI_SHELL=${file}\n`);
    const { requests, ...ran } = await run('dir', ALL, { place });

    expect(JSON.stringify(requests[0]?.body)).toContain('Runs a Windows PowerShell 5.1 command');
    expect(lastResult({ ...ran, requests })).toContain(`<${UTF8}dir>`);
  });

  it('leaves the text for bash where it is not set', async () => {
    const { requests, ...ran } = await run('[[ a == a ]] && echo $BASH', ALL, {});
    expect(JSON.stringify(requests[0]?.body)).toContain('Runs a bash command and waits for it');
    expect(lastResult({ ...ran, requests })).toMatch(/\/bash\n\(cwd: \.\)\nexit code 0$/);
  });

  it('lets read-only commands of sh pass, as those of bash', async () => {
    const ran = await run('ls', [], { env: { CHATCLI_SHELL: 'sh' }, files: { 'a.txt': 'a' } });
    expect(lastResult(ran)).toBe('a.txt\n(cwd: .)\nexit code 0');
  });

  it.each([
    ['without a rule', []],
    ['under a rule for all commands', ['--allowed-tools', 'shell']],
    ['in auto-edit', ['--approval-mode', 'auto-edit']],
  ])('denies what only reads where the shell can not be read: %s', async (_name, flags) => {
    const ran = await run('ls', flags, { place: placeWith('pwsh'), env: { CHATCLI_SHELL: 'pwsh' } });
    const denial = lastResult(ran);
    expect(denial).toContain('Only commands of bash and sh can be judged here, and this one is for PowerShell (pwsh).');
    expect(denial).toContain("--allowed-tools 'shell(ls)'");
    expect([ran.exitCode, jsonOf(ran).subtype]).toEqual([6, 'error_denied']);
  });

  it('runs there what a rule names word for word', async () => {
    const ran = await run('ls', ['--allowed-tools', 'shell(ls)'], {
      place: placeWith('pwsh'),
      env: { CHATCLI_SHELL: 'pwsh' },
    });
    expect([ran.exitCode, lastResult(ran)]).toEqual([0, expect.stringContaining(`<${UTF8}ls>`)]);
  });

  it('tells what a command was written for that another shell could not read', async () => {
    const script = '#!/bin/sh\necho "    + CategoryInfo : ParserError: (:) [], Exception" >&2\nexit 1\n';
    const ran = await run('a && b', ALL, {
      place: placeWith('powershell', script),
      env: { CHATCLI_SHELL: 'powershell' },
    });
    expect(lastResult(ran)).toBe(
      '    + CategoryInfo : ParserError: (:) [], Exception\n[Windows PowerShell 5.1 has no && and no ||: write a; if ($?) { b }]\n(cwd: .)\nexit code 1',
    );
  });

  it.each(['zsh-that-is-not-there', 'fish', '/no/such/pwsh', './pwsh'])(
    'is a fault of the configuration where there is no such shell: %s',
    async (shell) => {
      const env = { CHATCLI_SHELL: shell, PATH: '/no/such/folder' };
      const ran = await play([], ['coder', 'x'], { env });
      expect([ran.exitCode, ran.stdout, ran.requests]).toEqual([3, '', []]);
      expect(ran.stderr).toContain('CHATCLI_SHELL');
      expect(ran.stderr).toContain(shell);
    },
  );

  it('is never a program of the workspace by its name', async () => {
    const place = makePlace({ pwsh: TELLS });
    chmodSync(join(place.root, 'pwsh'), 0o755);
    const ran = await play([], ['coder', 'x'], {
      place,
      env: { CHATCLI_SHELL: 'pwsh', PATH: `${place.root}:.:/usr/bin:/bin` },
    });
    expect([ran.exitCode, ran.requests]).toEqual([3, []]);
  });
});
