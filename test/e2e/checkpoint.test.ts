import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { calls, says } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { resultsIn } from './reading.js';
import { play, serve, start, until } from './support.js';

const FLAGS = ['--checkpoint', 'run.checkpoint', '--approval-mode', 'auto-edit'];
const WRITE = calls('write_file', { path: 'a.txt', content: 'once\n' });
const EDIT = calls('edit_file', { path: 'a.txt', old_string: 'once', new_string: 'twice' });

describe('--checkpoint', () => {
  it('goes on with a run that was killed, and runs nothing again that had run', async () => {
    const place = makePlace();
    const hanging = await serve([WRITE, { fault: { kind: 'hang' } }]);
    const killed = start(['coder', 'x', ...FLAGS], { place, server: hanging });
    await until('the second request', () => hanging.requests.length === 2);
    killed.kill('SIGKILL');
    await killed.ended.catch(() => undefined);
    await hanging.close();

    // Were the write repeated, the edit after it would have nothing to find.
    place.write('a.txt', 'changed by hand\n');
    const resumed = await play([says('Done.')], ['coder', 'x', ...FLAGS], { place });

    expect(resumed).toMatchObject({ exitCode: 0, stdout: 'Done.\n' });
    expect(place.read('a.txt')).toBe('changed by hand\n');
    expect(resumed.requests).toHaveLength(1);
    expect(resultsIn(resumed.requests[0])).toEqual([expect.stringContaining('Created a.txt')]);
  });

  it('starts a new run where the stored one had ended', async () => {
    const place = makePlace({ 'a.txt': 'once\n' });
    await play([says('First.')], ['coder', 'x', ...FLAGS], { place });
    const second = await play([EDIT, says('Second.')], ['coder', 'y', ...FLAGS], { place });

    expect(second.stdout).toBe('Second.\n');
    expect(place.read('a.txt')).toBe('twice\n');
  });

  it('is readable by nobody else, nor is the key that signs it', async () => {
    const place = makePlace();
    await play([says('First.')], ['coder', 'x', ...FLAGS], { place });
    const files = readdirSync(dirname(place.root), { recursive: true, encoding: 'utf8' }).filter((path) =>
      /checkpoint(\.key)?$/.test(path),
    );
    expect(files.map((path) => basename(path)).sort()).toEqual(['checkpoint.key', 'run.checkpoint']);
    const modes = files.map((path) => statSync(join(dirname(place.root), path)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600]);
  });

  it.each<[string, (token: string) => string, readonly string[], RegExp]>([
    ['that is none', () => 'hello', [], /no checkpoint/],
    ['that was changed', (token) => token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')), [], /changed/],
    ['of other limits', (token) => token, ['--max-turns', '3'], /another configuration/],
    ['of another model', (token) => token, ['-m', 'another-model'], /another configuration/],
    ['of another worker', (token) => token, ['--worker', 'file'], /another configuration/],
    ['of another form of the answer', (token) => token, ['--json-schema', 'schema.json'], /another configuration/],
  ])('refuses one %s, before any request', async (_, change, flags, message) => {
    const place = makePlace({ 'schema.json': '{"type":"object"}' });
    await play([says('First.')], ['coder', 'x', ...FLAGS], { place });
    place.write('run.checkpoint', change(place.read('run.checkpoint').trim()));
    const run = await play([says('no')], ['coder', 'x', ...FLAGS, ...flags], { place });

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 2, requests: 0 });
    expect(run.stderr).toMatch(message);
  });
});
