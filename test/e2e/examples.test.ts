import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { makePlace } from './place.js';

const LINES_AT_MOST = 60;

const names = readdirSync('examples').filter((name) => name.endsWith('.mjs'));

/** What examples/README.md shows of each program: its whole stdout. */
const shown = new Map(
  [...readFileSync('examples/README.md', 'utf8').matchAll(/^\$ node examples\/(\S+)\n([\s\S]*?)^```$/gm)].map(
    ([, name = '', output = '']) => [name, output],
  ),
);

describe('the examples', () => {
  it('are those that their page shows', () => {
    expect([...shown.keys()].sort()).toEqual([...names].sort());
  });

  it.each(names)('%s prints what the page says, without key or network', async (name) => {
    const { env } = makePlace();
    // It rejects where the program does not end by itself, or not with 0.
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [resolve('examples', name)], {
      env,
      timeout: 20_000,
    });

    expect({ stdout, stderr }).toEqual({ stdout: shown.get(name), stderr: '' });
  });

  it.each(names)('%s says how to use a real provider, and is short', (name) => {
    const text = readFileSync(resolve('examples', name), 'utf8');

    expect(text).toMatch(/^\/\*\*\n \* Shows [\s\S]*? \* {3}openaiChat\(\{ name: .*, baseUrl: .*, apiKey: .* \}\)\n/);
    expect(text.split('\n').length - 1).toBeLessThanOrEqual(LINES_AT_MOST);
  });
});

it('the code of the README prints what its last comment says', async () => {
  const readme = readFileSync('README.md', 'utf8');
  const code = /## As a library[\s\S]*?```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  const { env } = makePlace();
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], { env, timeout: 20_000 });

  expect((await run).stdout).toBe(`${/console\.log\(.*?\); \/\/ (.*)\n$/.exec(code)?.[1]}\n`);
});

it('an error of the library that nobody caught shows a line of its source, not all of it', async () => {
  const { env } = makePlace();
  const program = "import('chatcli').then(({ createAgent }) => createAgent({}))";
  const failed = promisify(execFile)(process.execPath, ['-e', program], { env, timeout: 20_000 });

  await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining('`provider` has to be a provider') });
  await failed.catch(({ stderr }: { stderr: string }) => expect(stderr.length).toBeLessThan(4_000));
});
