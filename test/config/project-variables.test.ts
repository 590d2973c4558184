/** What a project's own env file can't set, however much it is trusted. */
import { expect, it, onTestFinished } from 'vitest';
import { sha256Of, storeTrust } from '../../src/config/trust.js';
import { makeBench } from './bench.js';

it('opens no host of this machine to fetch_url by a trusted ./.env, but by the env file of the person', async () => {
  const bench = await makeBench();
  onTestFinished(bench.remove);
  const content = 'CHATCLI_FETCH_ALLOW_HOSTS=localhost\nCHATCLI_MAX_REQUESTS=7\n';
  await bench.write('.env', content);
  const { folders } = (await bench.load()).config;
  const envFiles = new Map([['.env', sha256Of(content)]]);
  await storeTrust(folders.state, bench.cwd, () => ({ isTrusted: true, items: new Map(), envFiles }));
  const { config } = await bench.load({}, {}, { trustsWorkspace: true });
  expect({ hosts: config.fetchHosts, requests: config.run.maxRequests }).toEqual({ hosts: undefined, requests: 7 });
  await bench.write(bench.userEnvFile, 'CHATCLI_FETCH_ALLOW_HOSTS=localhost:3000\n');
  expect((await bench.load()).config.fetchHosts).toEqual(['localhost:3000']);
});
