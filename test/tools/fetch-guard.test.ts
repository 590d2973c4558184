/** `fetch_url` and what it must never reach: the tests look at who knocked at a listener on this machine. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { closedRange } from '../../src/tools/fetch-url/addresses.js';
import { createFetchUrlTool, type FetchOptions } from '../../src/tools/fetch-url/tool.js';
import { startProxy } from '../fixtures/proxy-server.js';
import { serveWeb } from '../fixtures/web-server.js';
import { bench } from './bench.js';

const SECRET = { body: 'SECRET of this machine' };

/** A redirect to `to`. */
const to = (location: string, status = 302) => ({ status, headers: { location } });

/** Names that the given answers belong to, one a question, the last for good. */
function names(answers: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = [];
  const resolve: FetchOptions['resolve'] = async (name) => {
    const addresses = answers[name];
    if (addresses === undefined) throw new Error(`nobody knows ${name}`);
    const earlier = asked.filter((each) => each === name).length;
    asked.push(name);
    const address = addresses[Math.min(earlier, addresses.length - 1)] ?? '';
    return address.split(' ').map((each) => ({ address: each, family: each.includes(':') ? 6 : 4 }));
  };
  return { resolve, asked };
}

async function fetchFrom(url: string, options: FetchOptions = {}) {
  const { call } = await bench();
  return call(createFetchUrlTool(options), { url });
}

describe('a host on this machine', () => {
  it.each([
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '0177.0.0.1',
    '127.0.0.1.',
    '0',
    '0.0.0.0',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'localhost..',
    'a.localhost',
    '１２７.0.0.1',
    '127。0。0。1',
    'ⓛocalhost',
    'l%6fcalhost',
  ])('is not asked by the spelling %s', async (host) => {
    const web = await serveWeb({ '/': SECRET });
    const wide = await serveWeb({ '/': SECRET }, '::');
    for (const { port } of [web, wide]) {
      const { ok, code, output } = await fetchFrom(`http://${host}:${port}/`);
      expect({ ok, code }).toEqual({ ok: false, code: expect.stringMatching(/^(?:blocked-host|bad-url)$/) });
      expect(output).not.toContain('SECRET');
    }
    expect([web.connections(), wide.connections()]).toEqual([0, 0]);
  });

  it.each([
    ['a name of it', '127.0.0.1'],
    ['one of several addresses', '93.184.216.34 127.0.0.1'],
    ['a mapped address', '::ffff:127.0.0.1'],
    ['an inner address', '::1'],
  ])('is not asked by %s', async (_, addresses) => {
    const web = await serveWeb({ '/': SECRET });
    const { resolve } = names({ 'inner.test': [addresses] });
    const { code, output } = await fetchFrom(`http://inner.test:${web.port}/`, { resolve });
    expect(code).toBe('blocked-host');
    expect(output).toContain('CHATCLI_FETCH_ALLOW_HOSTS');
    expect(web.connections()).toBe(0);
  });

  it('is not asked by a name that has another address the second time', async () => {
    const web = await serveWeb({ '/': SECRET });
    // The first one is on the internet, where nobody listens for us: what counts is who was knocked at.
    const { resolve, asked } = names({ 'rebind.test': ['198.41.0.4', '127.0.0.1'] });
    const { ok } = await fetchFrom(`http://rebind.test:${web.port}/`, { resolve, timeLimitMs: 200 });
    expect({ ok, asked, knocks: web.connections() }).toEqual({ ok: false, asked: ['rebind.test'], knocks: 0 });
  });

  it.each([
    ['its address', 'http://127.0.0.1'],
    ['its name', 'http://localhost'],
    ['a number', 'http://2130706433'],
    ['an IPv6 address', 'http://[::ffff:127.0.0.1]'],
    ['a name that leads to it', 'http://inner.test'],
  ])('is not asked through a redirect to %s', async (_, origin) => {
    const inner = await serveWeb({ '/secret': SECRET });
    const outer = await serveWeb({ '/': to(`${origin}:${inner.port}/secret`) });
    const { resolve } = names({ 'outer.test': ['127.0.0.1'], 'inner.test': ['127.0.0.1'] });
    const { call, context } = await bench();
    const tool = createFetchUrlTool({ allowHosts: ['outer.test'], resolve });
    // Even where the policy has nothing against any host.
    const output = await tool
      .run({ url: `http://outer.test:${outer.port}/` }, { ...context, judge: () => 'allow' })
      .catch((thrown: { code: string }) => ({ ok: false, code: thrown.code }));
    expect(output).toMatchObject({ ok: false, code: 'blocked-host' });
    expect({ outer: outer.connections(), inner: inner.connections() }).toEqual({ outer: 1, inner: 0 });
    expect((await call(tool, { url: `${origin}:${inner.port}/secret` })).code).toBe('blocked-host');
    expect(inner.connections()).toBe(0);
  });

  it('is judged anew at each redirect, also of the same name', async () => {
    const web = await serveWeb({ '/': to('/again'), '/again': SECRET });
    const { resolve, asked } = names({ 'site.test': ['127.0.0.1'] });
    const { output } = await fetchFrom(`http://site.test:${web.port}/`, { resolve, allowHosts: ['site.test'] });
    expect(output).toContain('SECRET');
    expect(asked).toEqual(['site.test', 'site.test']);
  });
});

describe('a URL', () => {
  it.each([
    ['a file', 'file:///etc/passwd', 'only http and https'],
    ['ftp', 'ftp://example.com/', 'only http and https'],
    ['data', 'data:text/plain,a', 'only http and https'],
    ['a script', 'javascript:alert(1)', 'only http and https'],
    ['no scheme', 'example.com/a', 'is no URL'],
    ['a user name', 'http://user@example.com/', '"@"'],
    ['a password', 'http://user:pass@example.com/', '"@"'],
    ['an empty user name', 'http://@127.0.0.1/', '"@"'],
    ['a host behind a user name', 'http://example.com@127.0.0.1/', '"@"'],
    ['a NUL', 'http://exam\0ple.com/', 'control character'],
    ['a line end', 'http://exam\nple.com/', 'control character'],
    ['letters that look like others', 'http://exаmple.com/', 'xn--exmple-4nf.com'],
    ['their plain spelling', 'http://xn--exmple-4nf.com/', 'look like others'],
  ])('with %s is refused', async (_, url, reason) => {
    const { resolve, asked } = names({});
    const { code, output } = await fetchFrom(url, { resolve });
    expect(code).toBe('bad-url');
    expect(output).toContain(reason);
    expect(asked).toEqual([]);
  });

  it('may have an "@" behind its host', async () => {
    const web = await serveWeb({ '/@user': { body: 'fine' } });
    const allowHosts = [`127.0.0.1:${web.port}`];
    expect((await fetchFrom(`${web.origin}/@user?mail=a@b`, { allowHosts })).output).toContain('fine');
  });
});

describe('a host that the person allowed', () => {
  it.each([
    ['by its address', '127.0.0.1', true],
    ['by its address and port', '127.0.0.1:PORT', true],
    ['at another port only', '127.0.0.1:1', false],
    ['by another name', 'localhost', false],
    ['by another spelling of its address', '127.1', true],
  ])('%s is asked: %s', async (_, entry, isAsked) => {
    const web = await serveWeb({ '/': { body: 'hello' } });
    const { ok } = await fetchFrom(`${web.origin}/`, { allowHosts: [entry.replace('PORT', String(web.port))] });
    expect({ ok, knocks: web.connections() }).toEqual({ ok: isAsked, knocks: isAsked ? 1 : 0 });
  });
});

describe('with a proxy', () => {
  async function behindProxy(target: number) {
    const proxy = await startProxy({ target });
    onTestFinished(() => proxy.close());
    return { proxy, network: async () => ({ proxy: { http: proxy.url } }) };
  }

  it('an address of this machine is refused all the same', async () => {
    const web = await serveWeb({ '/': SECRET });
    const { proxy, network } = await behindProxy(web.port);
    const { resolve } = names({ 'inner.test': ['127.0.0.1'] });
    for (const host of ['127.0.0.1', 'localhost', '[::1]', 'inner.test']) {
      const { code } = await fetchFrom(`http://${host}:${web.port}/`, { network, resolve });
      expect(code).toBe('blocked-host');
    }
    expect({ web: web.connections(), proxy: proxy.seen }).toEqual({ web: 0, proxy: [] });
  });

  it.each([
    'metadata.google.internal',
    'metadata',
    'instance-data',
    'printer.local',
    'router.home.arpa',
    'nas.lan',
    'db.corp',
    'a.localdomain',
    'wiki.intranet',
    'x.onion',
  ])('a name that can only be of a private network is not left to it: %s', async (host) => {
    const web = await serveWeb({ '/': SECRET });
    const { proxy, network } = await behindProxy(web.port);
    const { resolve } = names({});
    expect(await fetchFrom(`http://${host}/`, { network, resolve })).toMatchObject({ code: 'blocked-host' });
    expect(proxy.seen).toEqual([]);
    // The person may know better.
    expect((await fetchFrom(`http://${host}/`, { network, resolve, allowHosts: [host] })).output).toContain('SECRET');
  });

  it('a name that only the proxy knows is left to it', async () => {
    const web = await serveWeb({ '/a': { body: 'by proxy' } });
    const { proxy, network } = await behindProxy(web.port);
    const { resolve } = names({});
    expect((await fetchFrom('http://far.test/a', { network, resolve })).output).toContain('by proxy');
    expect(proxy.seen.map(({ target }) => target)).toEqual(['http://far.test/a']);
  });
});

describe('a range', () => {
  it.each([
    '0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 169.254.169.254 172.16.0.1',
    '172.31.255.255 192.168.0.1 192.0.0.192 168.63.129.16 198.18.0.1 224.0.0.1 239.255.255.255 240.0.0.1',
    '255.255.255.255 :: ::1 ::ffff:10.0.0.1 ::ffff:a00:1 ::10.0.0.1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1',
    'fe80::1 fc00::1 fd00:ec2::254 fec0::1 ff02::1 2001::1 2001:db8::1 2002:a00:1:: 2002:808:808:: 100::1',
  ])('that is no part of the internet is closed: %s', (addresses) => {
    expect(addresses.split(' ').filter((address) => closedRange(address) === undefined)).toEqual([]);
  });

  it.each([
    '1.1.1.1 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.1.1 172.15.1.1',
    '172.32.0.1 192.167.1.1 192.169.1.1 223.255.255.255 2606:4700::1111 2a00:1450:4001::1 ::ffff:1.1.1.1',
    '64:ff9b::101:101 64:ff9b::1.1.1.1',
  ])('of the internet is open: %s', (addresses) => {
    expect(addresses.split(' ').filter((address) => closedRange(address) !== undefined)).toEqual([]);
  });
});
