import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../src/errors.js';
import { createHttpClient, type HttpClientOptions, HttpError } from '../src/http.js';
import { proxyFor } from '../src/http-proxy.js';
import { trustedCertificates } from '../src/http-trust.js';
import { type Identity, makeIdentity } from './fixtures/certificates.js';
import { type ProxyOptions, type ProxyServer, startProxy } from './fixtures/proxy-server.js';

const LIMITS = { firstByteTimeoutMs: 5_000, idleTimeoutMs: 5_000 };
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const authority = makeIdentity('Test authority', { isAuthority: true });
const other = makeIdentity('Another authority', { isAuthority: true });
const model = makeIdentity('model', { issuer: authority, dnsNames: ['model.test'] });
const folder = await mkdtemp(join(tmpdir(), 'chatcli-trust-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A server on 127.0.0.1, secure with an identity; gives back its port. */
async function serve(identity?: Identity, handler?: RequestListener): Promise<number> {
  const answer: RequestListener =
    handler ?? ((request, response) => response.end(`${request.method} ${request.headers.host}`));
  const server = identity
    ? createSecureServer({ key: identity.key, cert: identity.cert }, answer)
    : createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

async function proxy(options: ProxyOptions): Promise<ProxyServer> {
  const started = await startProxy(options);
  closers.push(started.close);
  return started;
}

function client(options: Partial<HttpClientOptions>) {
  const http = createHttpClient({ ...LIMITS, ...options });
  closers.push(http.close);
  return http;
}

async function failureOf(work: Promise<unknown>): Promise<HttpError> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof HttpError) return thrown;
  throw new Error(`Not an HttpError: ${String(thrown)}`);
}

describe('NO_PROXY', () => {
  it.each([
    ['https://api.example.com/v1', '', true],
    ['https://api.example.com/v1', '*', false],
    ['https://api.example.com/v1', 'example.com', false],
    ['https://api.example.com/v1', '.example.com', false],
    ['https://api.example.com/v1', '*.example.com', false],
    ['https://example.com/v1', '.example.com', false],
    ['https://api.example.com./v1', 'EXAMPLE.com', false],
    ['https://badexample.com/v1', 'example.com', true],
    ['https://example.com.evil.test/v1', 'example.com', true],
    ['https://api.example.com/v1', 'api', true],
    ['https://api.example.com/v1', 'other.test, api.example.com', false],
    ['https://api.example.com/v1', 'other.test api.example.com', false],
    ['https://api.example.com/v1', ' ,, ', true],
    ['https://api.example.com/v1', '.', true],
    ['https://api.example.com/v1', 'example.com:443', false],
    ['https://api.example.com/v1', 'example.com:8443', true],
    ['http://api.example.com/v1', 'example.com:80', false],
    ['https://api.example.com:8443/v1', 'example.com:8443', false],
    ['http://127.0.0.1:11434/v1', '', true],
    ['http://localhost:11434/v1', 'localhost', false],
    ['http://127.0.0.1:11434/v1', '127.0.0.1', false],
    ['http://127.0.0.1:11434/v1', '127.0.0.1:11434', false],
    ['http://127.0.0.1:11434/v1', '127.0.0.1:1', true],
    ['http://127.0.0.1:11434/v1', '127.0.0.0/8', false],
    ['http://10.1.2.3/v1', '10.0.0.0/8', false],
    ['http://10.1.2.3/v1', '10.1.2.0/24,192.168.0.0/16', false],
    ['http://11.1.2.3/v1', '10.0.0.0/8', true],
    ['http://10.1.2.3/v1', '10.0.0.0/33', true],
    ['http://10.1.2.3/v1', '10.0.0.0/', true],
    ['http://10.1.2.3/v1', '2.3', true],
    ['http://10.1.2.3/v1', '0.0.0.0/0', false],
    ['http://[::1]:8080/v1', '::1', false],
    ['http://[::1]:8080/v1', '[::1]', false],
    ['http://[::1]:8080/v1', '[::1]:8080', false],
    ['http://[::1]:8080/v1', '[::1]:81', true],
    ['http://[fd00::5]/v1', 'fd00::/8', false],
    ['http://[fd00::5]/v1', 'FD00:0:0::5', false],
    ['http://[fd00::5]/v1', '0.0.0.0/0', true],
  ])('%s with %j goes through the proxy: %s', (url, noProxy, expected) => {
    const settings = { http: 'http://proxy:3128', https: 'http://proxy:3128', noProxy };
    expect(proxyFor(new URL(url), settings) !== undefined).toBe(expected);
  });
});

describe('the proxy of a URL', () => {
  it.each([
    ['http://a/', { http: 'http://p:1' }, 'http://p:1/', undefined],
    ['https://a/', { http: 'http://p:1' }, undefined, undefined],
    ['https://a/', { https: 'https://p' }, 'https://p/', undefined],
    ['https://a/', { https: 'http://user:p%40ss@p:1' }, 'http://p:1/', 'Basic dXNlcjpwQHNz'],
    ['https://a/', { https: 'http://token@p:1' }, 'http://p:1/', 'Basic dG9rZW46'],
  ])('%s with %j is %s', (url, settings, expected, authorization) => {
    const found = proxyFor(new URL(url), settings);
    expect([found?.url.href, found?.authorization]).toEqual([expected, authorization]);
  });

  it('cannot be a SOCKS proxy, which is told only where it would be used', () => {
    const settings = { https: 'socks5://user:hunter22@p:1080', noProxy: 'b' };
    expect(proxyFor(new URL('https://b/'), settings)).toBeUndefined();
    const use = () => proxyFor(new URL('https://a/'), settings);
    expect(use).toThrow(ConfigError);
    expect(use).toThrow('The proxy socks5://p:1080 cannot be used for a: it has to be an http or https proxy.');
  });
});

describe('a request through a proxy', () => {
  it.each([
    ['http', false],
    ['https', true],
  ])('to an %s URL reaches the server, whose name only the proxy has to know', async (scheme, isSecure) => {
    const through = await proxy({ target: await serve(isSecure ? model : undefined) });
    const http = client({ proxy: { http: through.url, https: through.url }, ca: [authority.cert] });
    const response = await http.fetch(`${scheme}://model.test/v1/x?y=1`, { method: 'POST', body: '{}' });
    expect(await response.text()).toBe('POST model.test');
    expect(through.seen).toEqual([
      isSecure
        ? { method: 'CONNECT', target: 'model.test:443', authorization: undefined }
        : { method: 'POST', target: 'http://model.test/v1/x?y=1', authorization: undefined },
    ]);
    expect(response.proxy).toBe(isSecure ? undefined : `127.0.0.1:${through.port}`);
  });

  it.each([
    ['http', false],
    ['https', true],
  ])('that speaks TLS itself works for %s URLs', async (scheme, isSecure) => {
    const identity = makeIdentity('proxy', { issuer: authority, addresses: [[127, 0, 0, 1]] });
    const through = await proxy({ target: await serve(isSecure ? model : undefined), identity });
    const http = client({ proxy: { http: through.url, https: through.url }, ca: [authority.cert] });
    expect(await (await http.fetch(`${scheme}://model.test/`)).text()).toBe('GET model.test');
    expect(through.seen).toHaveLength(1);
  });

  it.each(['http', 'https'])('tells it user name and password, and the server nothing of them (%s)', async (scheme) => {
    const heard: unknown[] = [];
    const port = await serve(scheme === 'https' ? model : undefined, (request, response) => {
      heard.push(
        request.headers.authorization,
        ...(scheme === 'https' ? [request.headers['proxy-authorization']] : []),
      );
      response.end('ok');
    });
    const through = await proxy({ target: port, credentials: 'user:p@ss' });
    const url = through.url.replace('//', '//user:p%40ss@');
    const http = client({ proxy: { http: url, https: url }, ca: [authority.cert] });
    const response = await http.fetch(`${scheme}://model.test/`, { headers: { authorization: 'Bearer key' } });
    expect(await response.text()).toBe('ok');
    expect(heard).toEqual(scheme === 'https' ? ['Bearer key', undefined] : ['Bearer key']);
  });

  it('keeps its tunnel for the requests that follow', async () => {
    const through = await proxy({ target: await serve(model) });
    const http = client({ proxy: { https: through.url }, ca: [authority.cert] });
    for (let count = 0; count < 3; count += 1) await (await http.fetch('https://model.test/')).text();
    expect(through.seen).toHaveLength(1);
  });

  it('is sent again through a new tunnel when the server closed the kept one just then', async () => {
    let requests = 0;
    const port = await serve(model, (request, response) => {
      requests += 1;
      if (requests === 2) request.socket.destroy();
      else response.end('ok');
    });
    const through = await proxy({ target: port });
    const http = client({ proxy: { https: through.url }, ca: [authority.cert] });
    expect(await (await http.fetch('https://model.test/')).text()).toBe('ok');
    expect(await (await http.fetch('https://model.test/', { method: 'POST', body: '{}' })).text()).toBe('ok');
    expect(through.seen.map(({ method }) => method)).toEqual(['CONNECT', 'CONNECT']);
  });

  it('does not go through it where NO_PROXY names the host', async () => {
    const port = await serve();
    const through = await proxy({ target: port });
    const http = client({ proxy: { http: through.url, noProxy: '127.0.0.1' } });
    expect(await (await http.fetch(`http://127.0.0.1:${port}/`)).text()).toBe(`GET 127.0.0.1:${port}`);
    expect(through.seen).toEqual([]);
  });
});

describe('a proxy that does not lead on', () => {
  const through = (port: number) => ({
    proxy: { http: `http://127.0.0.1:${port}`, https: `http://127.0.0.1:${port}` },
  });

  it.each([
    ['https', 407, 'proxy-refused', /asks for a name and a password/],
    ['http', 407, 'proxy-refused', /asks for a name and a password/],
    ['https', 403, 'proxy-refused', /allow model\.test:443/],
    ['https', 502, 'proxy', /could not reach model\.test:443/],
  ] as const)('is told with what it said (%s, %i)', async (scheme, status, fault, hint) => {
    const { port } = await proxy({ target: 1, status });
    const error = await failureOf(client(through(port)).fetch(`${scheme}://model.test/`));
    expect(error.fault).toBe(fault);
    const target = `model.test:${scheme === 'https' ? 443 : 80}`;
    expect(error.message).toContain(
      `The proxy 127.0.0.1:${port} did not let us through to ${target}: it answered ${status} `,
    );
    expect(error.hint).toMatch(hint);
    expect(error.hint).toContain('NO_PROXY lists what is reached without one.');
  });

  it.each(['http', 'https'])('because nothing listens there is told as that (%s)', async (scheme) => {
    const { port, close } = await startProxy({ target: 1 });
    await close();
    const error = await failureOf(client(through(port)).fetch(`${scheme}://model.test/`));
    expect([error.fault, error.message]).toEqual([
      'proxy',
      `The proxy 127.0.0.1:${port} failed: Nothing answers at http://127.0.0.1:${port}/: the connection was refused.`,
    ]);
  });

  it('because it is another kind of server is told as that', async () => {
    const port = await serve();
    const error = await failureOf(client(through(port)).fetch('https://model.test/'));
    expect(error.fault).toBe('proxy');
    expect(error.message).toContain(`The proxy 127.0.0.1:${port} failed:`);
  });

  it.each(['http', 'https'])('and never answers is left at the limit of the first byte (%s)', async (scheme) => {
    const silent = await proxy({ target: 1, isSilent: true });
    const http = client({ ...through(silent.port), firstByteTimeoutMs: 100 });
    expect((await failureOf(http.fetch(`${scheme}://model.test/`))).fault).toBe('first-byte-timeout');
    await expect.poll(silent.open).toBe(0);
  });

  it.each(['http', 'https'])('and never answers is left at a cancel (%s)', async (scheme) => {
    const silent = await proxy({ target: 1, isSilent: true });
    const controller = new AbortController();
    const work = client(through(silent.port)).fetch(`${scheme}://model.test/`, { signal: controller.signal });
    await expect.poll(() => silent.seen.length).toBe(1);
    controller.abort('enough');
    await expect(work).rejects.toBe('enough');
    await expect.poll(silent.open).toBe(0);
  });
});

describe('a certificate', () => {
  it.each<[string, Identity, readonly Identity[] | 'itself', RegExp | undefined]>([
    ['of an issuer that is trusted is taken', model, [authority], undefined],
    ['of one among several is taken', model, [other, authority], undefined],
    ['that is itself trusted is taken', makeIdentity('self', { dnsNames: ['model.test'] }), 'itself', undefined],
    ['of an unknown issuer is refused', model, [], /set CHATCLI_CA_BUNDLE to a PEM file/],
    ['of another issuer is refused', model, [other], /set CHATCLI_CA_BUNDLE to a PEM file/],
    ['that signed itself is refused', makeIdentity('self', { dnsNames: ['model.test'] }), [], /CHATCLI_CA_BUNDLE/],
    [
      'that has expired is refused',
      makeIdentity('old', { issuer: authority, dnsNames: ['model.test'], days: [-9, -2] }),
      [authority],
      /Check the clock.*CHATCLI_CA_BUNDLE does not help/,
    ],
    [
      'for another name is refused',
      makeIdentity('named', { issuer: authority, dnsNames: ['else.test'] }),
      [authority],
      /a host name that the certificate is for; CHATCLI_CA_BUNDLE does not help/,
    ],
  ])('%s', async (_, identity, trusted, hint) => {
    // Through a proxy, since the name does not exist.
    const through = await proxy({ target: await serve(identity) });
    const bundle = join(folder, 'bundle.pem');
    const certificates = trusted === 'itself' ? [identity.cert] : trusted.map(({ cert }) => cert);
    await writeFile(bundle, `# our own\n${certificates.join('\n')}`);
    const ca = certificates.length === 0 ? {} : { ca: await trustedCertificates({ bundle }) };
    const work = client({ proxy: { https: through.url }, ...ca }).fetch('https://model.test/');
    if (hint === undefined) return expect(await (await work).text()).toBe('GET model.test');
    const error = await failureOf(work);
    expect(error.fault).toBe('tls');
    expect(error.message).toMatch(/^No secure connection to https:\/\/model\.test\/: /);
    expect(error.hint).toMatch(hint);
  });

  it('is checked without a proxy as well', async () => {
    const local = makeIdentity('local', { issuer: authority, addresses: [[127, 0, 0, 1]] });
    const port = await serve(local);
    expect((await failureOf(client({}).fetch(`https://127.0.0.1:${port}/`))).fault).toBe('tls');
    const response = await client({ ca: [authority.cert] }).fetch(`https://127.0.0.1:${port}/`);
    expect(await response.text()).toBe(`GET 127.0.0.1:${port}`);
  });

  it('of the proxy is checked too', async () => {
    const identity = makeIdentity('proxy', { issuer: other, addresses: [[127, 0, 0, 1]] });
    const through = await proxy({ target: await serve(model), identity });
    const error = await failureOf(
      client({ proxy: { https: through.url }, ca: [authority.cert] }).fetch('https://model.test/'),
    );
    expect(error.fault).toBe('proxy-refused');
    expect(error.message).toContain(`The proxy 127.0.0.1:${through.port} failed: No secure connection`);
    expect(error.hint).toContain('CHATCLI_CA_BUNDLE');
  });

  it('is still needed where http is spoken', async () => {
    const port = await serve();
    const error = await failureOf(client({}).fetch(`https://127.0.0.1:${port}/`));
    expect([error.fault, error.hint]).toEqual(['tls', 'Check whether the URL should begin with http://.']);
  });
});

describe('a bundle of certificates', () => {
  it('is added to what Node trusts by itself, and to its extra file', async () => {
    const bundle = join(folder, 'one.pem');
    const nodeExtra = join(folder, 'extra.pem');
    await writeFile(bundle, authority.cert);
    await writeFile(nodeExtra, other.cert);
    const { rootCertificates } = await import('node:tls');
    const all = await trustedCertificates({ bundle, nodeExtra });
    expect(rootCertificates.every((certificate) => all.includes(certificate))).toBe(true);
    expect(all).toContain(authority.cert.trim());
    if (Number(process.versions.node.split('.')[0]) < 22) expect(all).toContain(other.cert.trim());
  });

  it.each([
    ['is not there', undefined, /^Cannot read the certificate file .*gone\.pem, named by CHATCLI_CA_BUNDLE: ENOENT/],
    ['is empty', '', /^There is no certificate in /],
    ['holds only a key', authority.key, /^There is no certificate in /],
    [
      'is broken',
      authority.cert.replace(/[A-Z]{2}/g, 'AA'),
      /^(Certificate 1 in .* is broken|There is no certificate)/,
    ],
  ])('that %s is an error of the configuration', async (_, content, message) => {
    const bundle = join(folder, content === undefined ? 'gone.pem' : 'bad.pem');
    if (content !== undefined) await writeFile(bundle, content);
    const work = trustedCertificates({ bundle });
    await expect(work).rejects.toThrow(ConfigError);
    await expect(work).rejects.toThrow(message);
  });
});
