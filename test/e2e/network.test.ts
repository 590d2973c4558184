import { type AddressInfo, connect } from 'node:net';
import { createServer } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { makeIdentity } from '../fixtures/certificates.js';
import { type ModelServer, says } from '../fixtures/model-server.js';
import { type ProxyOptions, startProxy } from '../fixtures/proxy-server.js';
import { makePlace } from './place.js';
import { jsonOf } from './reading.js';
import { chatcli, type RunOptions, serve } from './support.js';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const authority = makeIdentity('Test authority', { isAuthority: true });
const identity = makeIdentity('model', { issuer: authority, dnsNames: ['model.test'], addresses: [[127, 0, 0, 1]] });
const PASSWORD = 'proxy-pass-3f9a1c77';
const ONE_TRY = { CHATCLI_MAX_RETRIES: '0' };

const portOf = (server: ModelServer) => Number(new URL(server.url).port);

async function proxy(options: ProxyOptions) {
  const started = await startProxy(options);
  closers.push(started.close);
  return started;
}

/** A TLS end in front of a model server; gives back its port. */
async function secured(server: ModelServer): Promise<number> {
  const front = createServer({ key: identity.key, cert: identity.cert }, (socket) => {
    const onward = connect(portOf(server), '127.0.0.1');
    socket.pipe(onward).pipe(socket);
    socket.on('error', () => onward.destroy());
    onward.on('error', () => socket.destroy());
  });
  front.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  closers.push(() => front.close());
  return (front.address() as AddressInfo).port;
}

/** A place whose folder holds the authority's certificate, as `ca.pem`. */
function trustingPlace() {
  const place = makePlace();
  place.write('ca.pem', authority.cert);
  return place;
}

const ask = (server: ModelServer, env: RunOptions['env'], ...flags: readonly string[]) =>
  chatcli(['agent', 'x', ...flags], { server, env: { ...ONE_TRY, ...env }, place: trustingPlace() });

describe('a run with a proxy in its environment', () => {
  it.each([
    ['HTTP_PROXY', 'http://model.test/v1'],
    ['http_proxy', 'http://model.test/v1'],
    ['ALL_PROXY', 'http://model.test/v1'],
  ])('goes through it for a plain endpoint (%s)', async (variable, url) => {
    const server = await serve([says('Hello.')]);
    const through = await proxy({ target: portOf(server) });
    const run = await ask(server, { OPENAI_BASE_URL: url, [variable]: through.url });

    expect([run.exitCode, run.stdout]).toEqual([0, 'Hello.\n']);
    expect(through.seen).toEqual([
      { method: 'POST', target: 'http://model.test/v1/chat/completions', authorization: undefined },
    ]);
  });

  it.each(['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY'])('tunnels to a secure endpoint (%s)', async (variable) => {
    const server = await serve([says('Hello.')]);
    const through = await proxy({ target: await secured(server) });
    const env = { OPENAI_BASE_URL: 'https://model.test/v1', [variable]: through.url, CHATCLI_CA_BUNDLE: 'ca.pem' };
    const run = await ask(server, env);

    expect([run.exitCode, run.stdout]).toEqual([0, 'Hello.\n']);
    expect(through.seen).toEqual([{ method: 'CONNECT', target: 'model.test:443', authorization: undefined }]);
  });

  it('asks for the list of models through it, too', async () => {
    const server = await serve([says('Hello.')], { models: ['listed'] });
    const through = await proxy({ target: portOf(server) });
    const env = { OPENAI_BASE_URL: 'http://model.test/v1', OPENAI_MODEL: undefined, HTTP_PROXY: through.url };
    const run = await ask(server, env, '--output-format', 'json');

    expect(jsonOf(run)).toMatchObject({ result: 'Hello.', model: 'listed' });
    expect(through.seen.map(({ target }) => target)).toEqual([
      'http://model.test/v1/models',
      'http://model.test/v1/chat/completions',
    ]);
  });

  it.each(['NO_PROXY', 'no_proxy'])('leaves it alone for what %s names', async (variable) => {
    const server = await serve([says('Hello.')]);
    const through = await proxy({ target: portOf(server) });
    const run = await ask(server, { HTTP_PROXY: through.url, [variable]: 'example.com,127.0.0.1' });

    expect([run.exitCode, run.stdout, through.seen]).toEqual([0, 'Hello.\n', []]);
  });

  it.each([
    ['takes them', 0],
    ['refuses them', 4],
  ])('shows its user name and password nowhere, whether it %s', async (_, exitCode) => {
    const server = await serve([says(`It is ${PASSWORD}, or ${Buffer.from(`user:${PASSWORD}`).toString('base64')}.`)]);
    const credentials = exitCode === 0 ? `user:${PASSWORD}` : 'user:another';
    const through = await proxy({ target: await secured(server), credentials });
    const env = {
      OPENAI_BASE_URL: 'https://model.test/v1',
      HTTPS_PROXY: through.url.replace('//', `//user:${PASSWORD}@`),
      CHATCLI_CA_BUNDLE: 'ca.pem',
    };
    const run = await ask(server, env, '--output-format', 'stream-json', '--debug', '--verbose');

    expect(run.exitCode).toBe(exitCode);
    expect(through.seen[0]?.authorization).toBe(`Basic ${Buffer.from(`user:${PASSWORD}`).toString('base64')}`);
    const shown = run.stdout + run.stderr;
    expect(shown).not.toContain(PASSWORD);
    expect(shown).not.toContain(Buffer.from(`user:${PASSWORD}`).toString('base64').slice(4, -4));
  });

  it('that asks for a password is told that it was the proxy, and what to set', async () => {
    const server = await serve([]);
    const through = await proxy({ target: portOf(server), credentials: 'user:secret' });
    const env = { OPENAI_BASE_URL: 'https://model.test/v1', HTTPS_PROXY: through.url };
    const run = await ask(server, env);

    expect([run.exitCode, run.stdout, server.requests.length]).toEqual([4, '', 0]);
    expect(run.stderr).toContain(
      `openai: The proxy 127.0.0.1:${through.port} did not let us through to model.test:443: it answered 407 Refused.`,
    );
    expect(run.stderr).toContain('put them into the URL of the proxy, as in http://<user>:<password>@host:port');
    expect(run.stderr).toContain('NO_PROXY');
  });

  it('that answers itself is named beside what it said', async () => {
    const server = await serve([]);
    const through = await proxy({ target: portOf(server), status: 503 });
    const run = await ask(server, { OPENAI_BASE_URL: 'http://model.test/v1', HTTP_PROXY: through.url });

    expect([run.exitCode, run.stdout, server.requests.length]).toEqual([4, '', 0]);
    expect(run.stderr).toContain(`openai answered 503 through the proxy 127.0.0.1:${through.port}`);
  });

  it('of another kind ends with the error of a setting', async () => {
    const server = await serve([]);
    const run = await ask(server, { HTTP_PROXY: `socks5://user:${PASSWORD}@127.0.0.1:1` });

    expect([run.exitCode, run.stdout]).toEqual([3, '']);
    expect(run.stderr).toContain('The proxy socks5://127.0.0.1:1 cannot be used');
  });
});

describe('a run on an endpoint with a certificate of its own', () => {
  const atOwn = async (server: ModelServer) => ({ OPENAI_BASE_URL: `https://127.0.0.1:${await secured(server)}/v1` });

  it('works with the bundle that holds its issuer', async () => {
    const server = await serve([says('Hello.')]);
    const run = await ask(server, { ...(await atOwn(server)), CHATCLI_CA_BUNDLE: 'ca.pem' });

    expect([run.exitCode, run.stdout]).toEqual([0, 'Hello.\n']);
  });

  it('works with the extra file of Node, also beside another bundle', async () => {
    const server = await serve([says('Hello.'), says('Hello.')]);
    const place = trustingPlace();
    place.write('other.pem', makeIdentity('Other', { isAuthority: true }).cert);
    const own = { ...(await atOwn(server)), NODE_EXTRA_CA_CERTS: `${place.root}/ca.pem` };
    for (const env of [own, { ...own, CHATCLI_CA_BUNDLE: 'other.pem' }]) {
      const run = await chatcli(['agent', 'x'], { server, place, env });
      expect([run.exitCode, run.stdout]).toEqual([0, 'Hello.\n']);
    }
  });

  it('without it fails after one try, and names the setting', async () => {
    const server = await serve([]);
    const run = await ask(server, { ...(await atOwn(server)), CHATCLI_MAX_RETRIES: '3' });

    expect([run.exitCode, run.stdout]).toEqual([4, '']);
    expect(run.stderr).toContain('issuer that is not trusted here');
    expect(run.stderr).toContain('set CHATCLI_CA_BUNDLE to a PEM file');
    expect(run.stderr).not.toContain('Trying again');
  });

  it('is not helped by the variable that turns the check off: it says so once, and checks', async () => {
    const server = await serve([]);
    const run = await ask(server, { ...(await atOwn(server)), NODE_TLS_REJECT_UNAUTHORIZED: '0' });

    expect(run.exitCode).toBe(4);
    expect(run.stderr.match(/NODE_TLS_REJECT_UNAUTHORIZED/g)).toHaveLength(1);
    expect(run.stderr).toContain('certificates are always checked');
  });

  it.each([
    ['is not there', 'gone.pem'],
    ['holds no certificate', 'place.txt'],
  ])('with a bundle that %s ends with the error of a setting', async (_, bundle) => {
    const server = await serve([]);
    const place = trustingPlace();
    place.write('place.txt', 'nothing');
    const run = await chatcli(['agent', 'x'], { server, place, env: { CHATCLI_CA_BUNDLE: bundle } });

    expect([run.exitCode, run.stdout, server.requests.length]).toEqual([3, '', 0]);
    expect(run.stderr).toContain('CHATCLI_CA_BUNDLE');
  });
});

describe('further headers', () => {
  it('go with every request, and their values are not shown', async () => {
    const server = await serve([says('The token is hunter22-abc.')], { models: ['listed'] });
    const env = {
      CHATCLI_HEADERS: 'X-Gateway-Token: hunter22-abc\nUser-Agent: proxy-check/1.0',
      OPENAI_ORG_ID: 'org-1',
      OPENAI_PROJECT_ID: 'proj-1',
    };
    const run = await ask(server, env);

    expect([run.exitCode, run.stdout]).toEqual([0, 'The token is [redacted].\n']);
    expect(server.requests[0]?.headers).toMatchObject({
      'x-gateway-token': 'hunter22-abc',
      'user-agent': 'proxy-check/1.0',
      'openai-organization': 'org-1',
      'openai-project': 'proj-1',
    });
  });

  it('for an organisation go to the provider openai alone', async () => {
    const server = await serve([says('Hello.')]);
    const env = { CHATCLI_PROVIDER: 'vllm', CHATCLI_BASE_URL: server.url, OPENAI_ORG_ID: 'org-1' };
    const run = await ask(server, env);

    expect(run.exitCode).toBe(0);
    expect(server.requests[0]?.headers['openai-organization']).toBeUndefined();
  });
});
