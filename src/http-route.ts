/**
 * The ways to a server, each with connections of its own that are kept alive: straight, through a proxy that passes
 * http on, and through a tunnel that a proxy opens for https. Modules are loaded by the first request that needs them.
 */
import type { ClientRequest } from 'node:http';
import type { AgentOptions } from 'node:https';
import type { LookupFunction } from 'node:net';
import { type ProxyServer, type ProxySettings, proxyFor, serverNameOf } from './http-proxy.js';

export type Route = {
  open(url: URL, options: OpenOptions): ClientRequest;
  /** The proxy that answers in the server's place; not for a tunnel, whose end is the server itself. */
  readonly proxy?: ProxyServer;
  close(): void;
};

export type OpenOptions = {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The connection has to be a new one. */
  readonly isFresh: boolean;
  readonly line: Line;
  /** Already looked up: a straight connection goes to these and asks no name server. Through a proxy it has no say. */
  readonly connectTo?: readonly Address[] | undefined;
};

export type Address = { readonly address: string; readonly family: 4 | 6 };

/**
 * What a request waits for before it has a connection. Node tells an agent nothing of a request that was given up
 * meanwhile, so `cut` ends the waiting; whoever makes the connection puts it there.
 */
export type Line = { cut: () => void };

export type RouteSettings = {
  /** Absent: none. */
  readonly proxy?: ProxySettings;
  /** Certificates to trust, in PEM, in place of Node's own store. */
  readonly ca?: readonly string[];
};

export type Routes = {
  /** @throws {ConfigError} for a proxy of a kind that can't be used. */
  routeFor(url: URL): Promise<Route>;
  /** Drops every connection. */
  close(): void;
};

export function createRoutes({ proxy: settings = {}, ca }: RouteSettings): Routes {
  // Promises, since two first requests may meet here.
  const routes = new Map<string, Promise<Route>>();
  const closers: (() => void)[] = [];
  let trust: Promise<AgentOptions> | undefined;

  async function make(isSecure: boolean, proxy: ProxyServer | undefined): Promise<Route> {
    const usesTls = isSecure || proxy?.url.protocol === 'https:';
    if (usesTls) trust ??= trusting(ca);
    const route = await (proxy ? throughProxy(proxy, isSecure, await trust) : straight(isSecure, await trust));
    closers.push(route.close);
    return route;
  }

  async function routeFor(url: URL): Promise<Route> {
    const proxy = proxyFor(url, settings);
    const key = `${url.protocol} ${proxy?.url.href ?? ''}`;
    const known = routes.get(key);
    if (known) return known;
    const route = make(url.protocol === 'https:', proxy);
    routes.set(key, route);
    return route;
  }

  return {
    routeFor,
    close: () => {
      for (const close of closers) close();
    },
  };
}

/** Certificates are always checked: the variable of Node that turns this off has no say. */
async function trusting(ca: readonly string[] | undefined): Promise<AgentOptions> {
  if (ca === undefined) return { rejectUnauthorized: true };
  const { createSecureContext } = await import('node:tls');
  // Made once: reading a hundred certificates takes milliseconds.
  return { rejectUnauthorized: true, secureContext: createSecureContext({ ca: [...ca] }) };
}

/** TLS alone takes 5 ms to load. */
async function modules(isSecure: boolean) {
  return isSecure ? await import('node:https') : await import('node:http');
}

async function straight(isSecure: boolean, trust: AgentOptions | undefined): Promise<Route> {
  const { request, Agent } = await modules(isSecure);
  const agent = new Agent({ keepAlive: true, ...trust });
  return {
    open: (url, { method, headers, isFresh, connectTo }) => {
      const lookup = connectTo && { lookup: answering(connectTo) };
      return request(url, { method, headers, agent: isFresh ? new Agent({ ...trust }) : agent, ...lookup });
    },
    close: () => agent.destroy(),
  };
}

/** In place of a name server. Node wants all addresses, so that it can try one after another, or just one. */
function answering(addresses: readonly Address[]): LookupFunction {
  return (name, { all }, answer) => {
    const [first] = addresses;
    if (first === undefined) return answer(new Error(`There is no address of ${name}.`), '');
    if (all) return answer(null, [...addresses]);
    answer(null, first.address, first.family);
  };
}

async function throughProxy(proxy: ProxyServer, isSecure: boolean, trust: AgentOptions | undefined): Promise<Route> {
  const hop = await modules(proxy.url.protocol === 'https:');
  if (isSecure) {
    const { createTunnelAgent } = await import('./http-tunnel.js');
    const { request } = await modules(true);
    const tunnels = (keepAlive: boolean) =>
      createTunnelAgent(proxy, { requestToProxy: hop.request, agent: { keepAlive, ...trust } });
    const agent = tunnels(true);
    return {
      open: (url, { method, headers, isFresh, line }) => {
        const options = { method, headers, agent: isFresh ? tunnels(false) : agent, line };
        return request(url, options);
      },
      close: () => agent.destroy(),
    };
  }
  const agent = new hop.Agent({ keepAlive: true, ...trust });
  const own = proxy.authorization === undefined ? {} : { 'proxy-authorization': proxy.authorization };
  return {
    proxy,
    // The whole URL as the path tells the proxy where to (RFC 9112, 3.2.2).
    open: (url, { method, headers, isFresh }) => {
      const options = {
        method,
        path: `${url.protocol}//${url.host}${url.pathname}${url.search}`,
        headers: { ...headers, ...own, host: url.host },
        servername: serverNameOf(proxy),
        agent: isFresh ? new hop.Agent({ ...trust }) : agent,
      };
      return hop.request(proxy.url, options);
    },
    close: () => agent.destroy(),
  };
}
