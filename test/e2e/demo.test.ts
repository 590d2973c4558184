import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { makePlace } from './place.js';

it('the demo mends a real project, shows how, and says that the model is a script', async () => {
  const { env } = makePlace();
  // No key, no network, no configuration: the environment of a fresh machine.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [resolve('scripts/demo.mjs')], {
    env,
    timeout: 20_000,
  });

  expect(stdout).toMatch(/model's side is a script/);
  expect(stderr).toMatch(
    /✗ shell +npm test[\s\S]*✓ edit_file[\s\S]*- .*i = 1[\s\S]*\+ .*i = 0[\s\S]*✓ shell +npm test[\s\S]*● done · 5 turns/,
  );
  expect(stdout).toMatch(/Fixed\. .*\n$/);
});
