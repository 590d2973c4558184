import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Bench, makeBench } from './bench.js';

let bench: Bench;
beforeEach(async () => {
  bench = await makeBench();
});
afterEach(() => bench.remove());

describe('the proxy variables', () => {
  it.each([
    ['the upper-case name counts', { HTTPS_PROXY: 'http://a:1' }, { https: 'http://a:1' }],
    ['the lower-case name counts', { https_proxy: 'http://a:1' }, { https: 'http://a:1' }],
    ['of both the lower case wins', { HTTPS_PROXY: 'http://a:1', https_proxy: 'http://b:2' }, { https: 'http://b:2' }],
    ['an empty one is not set', { HTTPS_PROXY: 'http://a:1', https_proxy: '' }, { https: 'http://a:1' }],
    ['the general one serves both', { all_proxy: 'a:1' }, { http: 'http://a:1', https: 'http://a:1' }],
    ['the special one wins', { ALL_PROXY: 'a:1', http_proxy: 'b:2' }, { http: 'http://b:2', https: 'http://a:1' }],
    ['the exceptions too', { NO_PROXY: 'a', no_proxy: 'b,c' }, { noProxy: 'b,c' }],
  ])('%s', async (_, env, expected) => {
    expect((await bench.load(env)).config.network.proxy).toEqual(expected);
  });

  it('in the environment win over those of an env file, whatever their case', async () => {
    await bench.write(bench.userEnvFile, 'https_proxy=http://file:1\nhttp_proxy=http://file:1\n');
    const { config } = await bench.load({ HTTPS_PROXY: 'http://environment:2' });
    expect(config.network.proxy).toEqual({ https: 'http://environment:2', http: 'http://file:1' });
  });

  it('in a ./.env that is not read are no reason for a notice, since other programs read them', async () => {
    await bench.write('.env', 'https_proxy=http://file:1\nNO_PROXY=a\n');
    expect((await bench.load()).notices).toEqual([]);
  });

  it.each([
    ['http://user:p%40ssword@proxy:1', ['p%40ssword', 'p@ssword', 'user:p@ssword']],
    ['user:short@proxy:1', ['short', 'user:short']],
    ['http://100%25:half%zz@proxy:1', ['half%zz', '100%:half%zz']],
    ['http://user@proxy:1', []],
    ['proxy:1', []],
  ])('%s has as secrets %j', async (value, expected) => {
    const { secretValues } = await bench.load({ https_proxy: value });
    expect([...new Set(secretValues)]).toEqual(expected);
  });

  it('are refused without being shown', async () => {
    const error = await bench.failure({ HTTPS_PROXY: 'user:hunter22@proxy:port' });
    expect(error.message).not.toContain('hunter22');
    expect(error.message).toContain('HTTPS_PROXY=(not shown, 24 characters) from the environment is not valid');
  });
});

describe('CHATCLI_HEADERS', () => {
  it.each([
    ['X-Key: abcdefgh', ['abcdefgh']],
    ['Authorization: Bearer abc.def', ['Bearer abc.def', 'abc.def']],
    ['X-Team: platform\nX-Auth-Word: platform', ['platform']],
    ['X-Team: platform', []],
    ['HTTP-Referer: https://example.com', ['https://example.com']],
  ])('%j has as secrets %j', async (value, expected) => {
    expect((await bench.load({ CHATCLI_HEADERS: value })).secretValues).toEqual(expected);
  });

  it('is refused without being shown', async () => {
    const error = await bench.failure({ CHATCLI_HEADERS: 'X-Key hunter22' });
    expect(error.message).not.toContain('hunter22');
  });
});

describe('NODE_TLS_REJECT_UNAUTHORIZED', () => {
  it.each([
    ['0', ['tls-check-stays']],
    ['1', []],
    [undefined, []],
  ])('as %j gives the notices %j', async (value, expected) => {
    const { notices } = await bench.load({ NODE_TLS_REJECT_UNAUTHORIZED: value });
    expect(notices.map(({ code }) => code)).toEqual(expected);
  });
});
