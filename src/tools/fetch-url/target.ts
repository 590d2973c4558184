/** What a URL leads to, and whether it may be asked: judged before anything is sent, and again at each redirect. */
import { isIP } from 'node:net';
import type { Address } from '../../http.js';
import { untilAborted } from '../abort.js';
import { ToolFailure } from '../types.js';
import { closedRange } from './addresses.js';

/** Looks a name up: all its addresses. It rejects, or finds none, where there are none. */
export type Resolve = (name: string) => Promise<readonly Address[]>;

export type Target = {
  readonly url: URL;
  /** Name or address, an IPv6 one without brackets. */
  readonly host: string;
  /** The person named this host: it may be anywhere. */
  readonly isAllowed: boolean;
};

const ALLOW_HINT = 'The person can allow a host with CHATCLI_FETCH_ALLOW_HOSTS.';
/** Reserved by RFC 6761, 6762, 8375, 7686 and ICANN, or never given away since networks use them inside. */
const INNER_DOMAIN =
  /\.(?:localhost|localdomain|local|internal|intranet|private|home\.arpa|lan|home|corp|mail|invalid|onion)$/;
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;

/** A URL as it is sent, for the policy; what is none stays as it is. */
export function canonicalUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url === undefined ? text : withoutTrailingDot(url).href;
}

/**
 * Takes a URL apart and judges all of it that can be judged without a question to the network.
 * @throws {ToolFailure} `bad-url`, `blocked-host`.
 */
export function readTarget(text: string, allowedHosts: readonly string[]): Target {
  const refuse = (why: string) => new ToolFailure('bad-url', `${JSON.stringify(text.slice(0, 200))} ${why}`);
  if (CONTROL_CHARACTER.test(text)) throw refuse('has a control character in it.');
  if (!URL.canParse(text)) throw refuse('is no URL. Give it whole, such as https://example.com/page.');
  const url = withoutTrailingDot(new URL(text));
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw refuse('cannot be fetched: only http and https can. For files there is read_file.');
  if (url.username !== '' || url.password !== '' || /^[^/]*[/\\]{2}[^/\\?#]*@/.test(text))
    throw refuse('has a user name or "@" in front of its host. Leave that out.');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isAllowed = allowedHosts.some((entry) => allows(entry, url));
  if (isAllowed) return { url, host, isAllowed };
  if (isForeign(text, host)) {
    const name = `has the host ${host}, with letters that can look like others.`;
    throw refuse(`${name} Such names are not fetched. ${ALLOW_HINT}`);
  }
  if (/(?:^|\.)localhost$/.test(host)) throw blocked(host, 'this machine');
  const closed = isIP(host) === 0 ? undefined : closedRange(host);
  if (closed !== undefined) throw blocked(host, closed);
  return { url, host, isAllowed };
}

/**
 * Where to connect. Undefined where a proxy has to look the name up, since we can't.
 * @throws {ToolFailure} `blocked-host` when any address is not on the internet, `not-found` when there is none.
 */
export async function addressesOf(
  { host, isAllowed }: Target,
  {
    resolve,
    signal,
    isProxied,
  }: { readonly resolve: Resolve; readonly signal: AbortSignal; readonly isProxied: boolean },
): Promise<readonly Address[] | undefined> {
  const family = isIP(host);
  if (family === 4 || family === 6) return [{ address: host, family }];
  const none = (cause?: unknown) =>
    new ToolFailure('not-found', `The host ${host} was not found. Check its name.`, { cause });
  const found = await untilAborted(signal, resolve(host)).catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    if (isProxied) return undefined;
    throw none(cause);
  });
  if (found === undefined) {
    // Nobody here knows the address, so the name alone has to say that it is not an inner one.
    if (!isAllowed && isInnerName(host)) throw blocked(host, 'a private network');
    return undefined;
  }
  if (found.length === 0) throw none();
  if (isAllowed) return found;
  for (const { address } of found) {
    const closed = closedRange(address);
    if (closed !== undefined) throw blocked(`${host} (${address})`, closed);
  }
  return found;
}

/** A name that no public name server answers for: without a dot, or below a domain kept for inner use. */
function isInnerName(host: string): boolean {
  return !host.includes('.') || INNER_DOMAIN.test(host);
}

function blocked(host: string, range: string): ToolFailure {
  return new ToolFailure('blocked-host', `${host} is not fetched: its address belongs to ${range}. ${ALLOW_HINT}`);
}

/** `example.com.` is `example.com`; with the dot it would be another one to a rule. */
function withoutTrailingDot(url: URL): URL {
  const name = url.hostname.replace(/\.+$/, '');
  if (name !== url.hostname && name !== '') url.hostname = name;
  return url;
}

/** Letters beyond ASCII in the name, or digits and dots beyond it, which a URL quietly makes plain ones. */
function isForeign(text: string, host: string): boolean {
  const authority = /^[^/]*[/\\]{2}([^/\\?#]*)/.exec(text)?.[1] ?? '';
  return /[^\u0000-\u007f]/.test(authority) || /(?:^|\.)xn--/.test(host);
}

/** An entry is a name or an address, with `:port` for that port only. */
function allows(entry: string, url: URL): boolean {
  const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  if (!URL.canParse(`http://${name}`) || name === '') return false;
  const isPort = port === undefined || port === (url.port || (url.protocol === 'https:' ? '443' : '80'));
  return isPort && withoutTrailingDot(new URL(`http://${name}`)).hostname === url.hostname;
}
