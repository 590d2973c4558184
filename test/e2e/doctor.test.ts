import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makePlace } from './place.js';
import { chatcli, inShell, KEY, type RunOptions, serve } from './support.js';

type Check = { readonly name: string; readonly level: string; readonly found: string; readonly advice?: string };

const NAMES = [
  ...['node', 'system', 'provider', 'config folder', 'state folder', 'workspace'],
  ...['trust', 'shell', 'ripgrep', 'git', 'sandbox'],
  ...['terminal', 'proxy', 'certificates'],
];

async function examined(options: RunOptions, ...flags: readonly string[]) {
  const run = await chatcli(['doctor', '--output-format', 'json', ...flags], options);
  const { type, ok, checks } = JSON.parse(run.stdout) as { type: string; ok: boolean; checks: readonly Check[] };
  const named = (name: string) => checks.find((check) => check.name === name);
  return { ...run, type, ok, checks, named };
}

describe('chatcli doctor', () => {
  it('says a line for each thing, aligned, with what to do below, and asks nobody', async () => {
    const server = await serve([]);
    const run = await chatcli(['doctor'], { server });
    const lines = run.stdout.split('\n');
    const heads = lines.filter((line) => /^(?:ok|warning|problem) /.test(line));
    expect(heads.map((line) => line.slice(9, 22).trim())).toEqual(NAMES);
    expect(new Set(lines.slice(0, -3).map((line) => line.search(/\S/))).size).toBeLessThanOrEqual(2);
    expect([run.exitCode, run.stderr, server.requests]).toEqual([0, '', []]);
  });

  it('names a rule that no run would start with', async () => {
    const place = makePlace({});
    const rule = { rule: 'shell(curl *)', match: ['shell(wget x)'] };
    writeFileSync(join(place.settings, 'settings.json'), JSON.stringify({ permissions: { deny: [rule] } }));
    const { exitCode, named } = await examined({ place });
    expect([exitCode, named('rules')]).toEqual([
      3,
      expect.objectContaining({ level: 'problem', found: expect.stringMatching(/settings\.json:1: .*"match"/) }),
    ]);
  });

  it('gives the same as JSON, names keys and shows none', async () => {
    const env = {
      GROQ_API_KEY: 'gsk_0123456789abcdef',
      OPENAI_BASE_URL: 'http://user:pass-word@127.0.0.1:9/v1',
      OPENAI_MODEL: 'm',
      OPENAI_API_KEY: KEY,
    };
    const { type, ok, checks, named, stdout, exitCode } = await examined({ env });
    expect([type, ok, exitCode, checks.map(({ name }) => name)]).toEqual(['doctor', true, 0, NAMES]);
    expect(named('provider')).toEqual({
      name: 'provider',
      level: 'ok',
      found: 'openai, http://127.0.0.1:9/v1, model m, key is set (in the environment: OPENAI_API_KEY, GROQ_API_KEY)',
    });
    expect([stdout.includes('gsk_'), stdout.includes('pass-word')]).toEqual([false, false]);
  });

  it.each<[string, RunOptions['env'], string]>([
    ['a variable that can not be used', { CHATCLI_MAX_RETRIES: 'many' }, 'configuration'],
    ['a shell that is not there', { CHATCLI_SHELL: 'no-such-shell-at-all' }, 'shell'],
    ['certificates that are none', { CHATCLI_CA_BUNDLE: '/etc/hostname' }, 'certificates'],
    ['a state folder that is no folder', { CHATCLI_HOME: '/etc/hostname' }, 'state folder'],
  ])('ends with exit 3 for %s, with what to do', async (_name, env, name) => {
    const { ok, exitCode, named } = await examined({ env });
    expect([ok, exitCode, named(name)]).toEqual([
      false,
      3,
      { name, level: 'problem', found: expect.any(String), advice: expect.any(String) },
    ]);
  });

  it('warns of what is missing on the PATH and goes on', async () => {
    const { exitCode, named } = await examined({ env: { PATH: '/no/such/folder' } });
    expect([exitCode, named('git')?.level, named('shell')?.level]).toEqual([0, 'warning', 'warning']);
  });

  it.each([
    ['a warning where nothing needs it', '', 0, 'warning'],
    ['a problem where it is required', 'CHATCLI_SANDBOX=required ', 3, 'problem'],
  ])('takes a missing sandbox as %s', async (_name, variable, exitCode, level) => {
    const hide = ['/usr/bin/bwrap', '/usr/local/bin/bwrap'].map(
      (file) => `[ ! -e ${file} ] || mount --bind /dev/null ${file}`,
    );
    const line = `${variable}exec unshare -rm sh -c '${hide.join(' && ')} && exec chatcli doctor --output-format json'`;
    const run = await inShell(variable === '' ? line : `export ${variable}; ${line.slice(variable.length)}`);
    const { checks } = JSON.parse(run.stdout) as { checks: readonly Check[] };
    expect([run.exitCode, checks.find(({ name }) => name === 'sandbox')]).toEqual([
      exitCode,
      {
        name: 'sandbox',
        level,
        found: 'bubblewrap is not installed',
        advice: expect.stringContaining('apt-get install bubblewrap'),
      },
    ]);
  });

  it('tries the sandbox out', async () => {
    const { named } = await examined({});
    expect(named('sandbox')).toMatchObject({
      level: 'ok',
      found: expect.stringMatching(/^bubblewrap, \S+: tried, works$/),
    });
  });

  it('says why there is none for a workspace that holds the home', async () => {
    const place = makePlace();
    const { named } = await examined({ place, env: { HOME: join(place.root, '..') } }, '-C', '..');
    expect(named('sandbox')).toMatchObject({
      level: 'warning',
      found: expect.stringContaining('holds the home folder'),
    });
  });

  it('is no place for a program of the workspace', async () => {
    const place = makePlace({ git: '#!/bin/sh\n' });
    chmodSync(join(place.root, 'git'), 0o755);
    writeFileSync(join(place.settings, '.env'), 'OPENAI_BASE_URL=http://127.0.0.1:9/v1\nOPENAI_MODEL=m\n');
    const { named } = await examined({ place, env: { PATH: '.:/no/such/folder' } });
    expect([named('git')?.found, named('provider')?.level]).toEqual(['not found', 'ok']);
  });
});
