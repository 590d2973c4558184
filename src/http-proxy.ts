/**
 * Which proxy leads to a URL, by the rules that curl and Node 24 share: a loopback address is no exception, unless it
 * is named as one. Pure: the variables are read by config.
 */
import { BlockList, isIP } from 'node:net';
import { ConfigError } from './errors.js';

export type ProxySettings = {
  /** The proxy of http:// URLs, as a URL; it may hold a user name and a password. */
  readonly http?: string;
  /** The same for https:// URLs. */
  readonly https?: string;
  /**
   * What is reached without one, as in `NO_PROXY`: entries between commas or blanks. `*` is everything; `example.com`,
   * `.example.com` and `*.example.com` are that host and all below it; addresses stand alone or as `10.0.0.0/8`; each
   * may end in `:port`.
   */
  readonly noProxy?: string;
};

export type ProxyServer = {
  /** Without user name and password. */
  readonly url: URL;
  /** The value of its `proxy-authorization` header, where it has a user name or a password. A secret. */
  readonly authorization?: string;
};

const FAMILIES = { 4: { name: 'ipv4', bits: 32 }, 6: { name: 'ipv6', bits: 128 } } as const;

/**
 * The proxy to use for `url`; undefined for none.
 * @throws {ConfigError} when it would be one that is neither http nor https.
 */
export function proxyFor(url: URL, settings: ProxySettings): ProxyServer | undefined {
  const text = url.protocol === 'https:' ? settings.https : settings.http;
  if (text === undefined || isExcepted(url, settings.noProxy ?? '')) return undefined;
  const proxy = new URL(text);
  if (proxy.protocol !== 'http:' && proxy.protocol !== 'https:') throw unusable(proxy, url);
  const authorization = authorizationOf(proxy);
  proxy.username = '';
  proxy.password = '';
  return { url: proxy, ...(authorization && { authorization }) };
}

/** The name that a proxy's certificate has to hold. Left to itself, Node takes that of the request's `host` header. */
export function serverNameOf({ url }: ProxyServer): string {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? host : '';
}

/** Host and port, with the default port of its scheme. */
export function hostAndPort(url: URL): string {
  return `${url.hostname}:${portOf(url)}`;
}

function portOf(url: URL): string {
  return url.port || (url.protocol === 'https:' ? '443' : '80');
}

function isExcepted(url: URL, list: string): boolean {
  return list.split(/[\s,]+/).some((entry) => entry !== '' && covers(entry.toLowerCase(), url));
}

function covers(entry: string, url: URL): boolean {
  if (entry === '*') return true;
  const { name, port } = splitPort(entry);
  if (port !== undefined && port !== portOf(url)) return false;
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '');
  // An address is no name: `0.1` must not cover 10.0.0.1.
  if (isIP(host) !== 0) return isInRange(host, name);
  const suffix = name.replace(/^\*?\./, '');
  return suffix !== '' && (host === suffix || host.endsWith(`.${suffix}`));
}

function splitPort(entry: string): { readonly name: string; readonly port?: string } {
  const [, bracketed, name, port] = /^(?:\[(.+)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  // With more than one colon and no brackets it is an IPv6 address without a port.
  return { name: bracketed ?? name ?? entry, ...(port !== undefined && { port }) };
}

/** `range` is an address or a network such as `192.168.0.0/16`; anything else holds no address. */
function isInRange(address: string, range: string): boolean {
  const [network = '', prefix, ...rest] = range.split('/');
  const version = isIP(network);
  if ((version !== 4 && version !== 6) || version !== isIP(address) || rest.length > 0) return false;
  const { name, bits } = FAMILIES[version];
  const length = prefix === undefined ? bits : Number(prefix);
  if (prefix === '' || !Number.isInteger(length) || length < 0 || length > bits) return false;
  const ranges = new BlockList();
  ranges.addSubnet(network, length, name);
  return ranges.check(address, name);
}

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A lone percent sign: what stands there is meant.
  }
}

function unusable(proxy: URL, url: URL): ConfigError {
  return new ConfigError(
    `The proxy ${proxy.protocol}//${proxy.host} cannot be used for ${url.host}: it has to be an http or https proxy.`,
    { hint: `Set HTTPS_PROXY (for http:// URLs HTTP_PROXY) to one, or add ${url.hostname} to NO_PROXY.` },
  );
}
