import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { makePlace } from './place.js';

const LIBRARY = pathToFileURL(resolve('dist/library/index.js')).href;

/** A program of a library user, in a process of its own. It rejects where that does not end with 0. */
const runs = (program: string) =>
  promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', `import { createAgent, FakeProvider } from '${LIBRARY}';\n${program}`],
    { env: makePlace().env, timeout: 20_000 },
  );

/** Never ends, and holds no process open. */
const NEVER = 'new Promise(() => undefined)';

describe('a program that waits for nothing but its agent', () => {
  it.each([
    [
      'a model that is deaf',
      `const provider = { name: 'deaf', async *stream() { await ${NEVER}; } }; const tools = [];`,
    ],
    [
      'a tool that ends with its signal',
      `const provider = FakeProvider([{ toolCalls: [{ name: 'wait', arguments: {} }] }]);
      const tools = [{
        name: 'wait', doc: 'Waits.', permission: 'read', concurrency: 'serial', ownTimeout: true,
        schema: (await import('zod')).object({}),
        subjects: () => [],
        run: (_, { signal }) => new Promise((done) => signal.addEventListener('abort', () => done({ ok: true, output: 'x' }))),
      }];`,
    ],
  ])('is kept alive by the time limit of a run, which ends it, with %s', async (_, setup) => {
    const { stdout } = await runs(`${setup}
      const agent = createAgent({ provider, tools });
      console.log((await agent.run('Go.', { timeoutMs: 200 })).reason);`);
    expect(stdout).toBe('timeout\n');
  });

  it('ends at once when the run is over, whatever its limits', async () => {
    // It is killed, and rejects, if it does not end by itself.
    const { stdout } = await runs(`
      const agent = createAgent({ provider: FakeProvider([{ text: 'Done.' }]), limits: { timeoutMs: 3_600_000 } });
      console.log((await agent.run('Go.')).reason);`);
    expect(stdout).toBe('answered\n');
  });
});
