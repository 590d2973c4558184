/** Searches in the built program: what must not run, and what must not reach the model. */
import { chmodSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rgPath } from '@vscode/ripgrep';
import { describe, expect, it } from 'vitest';
import { calls, says } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { resultsIn } from './reading.js';
import { play } from './support.js';

describe('a search', () => {
  it('runs no program that a configuration of ripgrep names, by our tool or by rg itself [A18]', async () => {
    const place = makePlace();
    place.write('.rgrc', `--pre=${join(place.root, 'x')}\n`);
    place.write('x', `#!/bin/sh\ntouch ${join(place.root, 'pwned')}\ncat "$1"\n`);
    place.write('a.txt', 'hello\n');
    chmodSync(join(place.root, 'x'), 0o755);
    const env = { RIPGREP_CONFIG_PATH: join(place.root, '.rgrc'), PATH: `${dirname(rgPath)}:${process.env.PATH}` };
    const turns = [calls('search_files', { pattern: 'hello' }), calls('shell', { command: 'rg hello' }), says('done')];
    const { exitCode, requests } = await play(turns, ['coder', 'x'], { place, env });
    expect(exitCode).toBe(0);
    expect(resultsIn(requests.at(-1)).filter((result) => result.includes('a.txt'))).toHaveLength(2);
    expect(place.has('pwned')).toBe(false);
  });

  it('brings no secret file to the model, by any glob, link or listing [A26]', async () => {
    const place = makePlace();
    for (const path of ['.env', 'sub/.env.local', 'key.pem', '.npmrc', '.ENV'])
      place.write(path, 'TOKEN=canary-7731\n');
    place.write('a.txt', 'TOKEN=public\n');
    symlinkSync('.env', join(place.root, 'plain.txt'));
    const inputs = [
      { pattern: 'TOKEN' },
      { pattern: 'TOKEN', glob: '**/.env*' },
      { pattern: 'TOKEN', glob: '{.*,*}', context: 5 },
      { pattern: 'TOKEN', path: '.env' },
      { pattern: 'TOKEN', path: 'plain.txt' },
      { pattern: 'TOKEN', path: 'sub', glob: '.env.local' },
    ];
    const turns = [
      { calls: inputs.flatMap((input) => calls('search_files', input).calls ?? []) },
      calls('list_files', { hidden: true, depth: 9 }),
      says('done'),
    ];
    const { requests } = await play(turns, ['coder', 'x'], { place });
    expect(requests).toHaveLength(3);
    expect(JSON.stringify(requests)).not.toContain('canary-7731');
    expect(resultsIn(requests.at(-1))[0]).toContain('a.txt');
  });
});
