/**
 * Connections through a tunnel (RFC 9110, 9.3.6) that a proxy opens for `CONNECT`. Of our own, on Node's agent, since
 * the kept library (https-proxy-agent) hands a proxy's refusal out as the server's answer, and leaves a request to a
 * proxy that never answers running after its time limit or its cancel.
 */
import type { request as httpRequest } from 'node:http';
import { Agent, type AgentOptions, type RequestOptions } from 'node:https';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { proxyError, proxyRefusal } from './http-fault.js';
import { type ProxyServer, serverNameOf } from './http-proxy.js';
import type { Line } from './http-route.js';

export type TunnelOptions = {
  /** `request` of node:http or node:https, by the proxy's own scheme. */
  readonly requestToProxy: typeof httpRequest;
  readonly agent: AgentOptions;
};

type Tunnelled = RequestOptions & { readonly line?: Line };
type Opened = (error: Error | null, socket?: Duplex) => void;

/** An agent whose connections each go through a tunnel of their own. Requests carry their `line`. */
export function createTunnelAgent(proxy: ProxyServer, { requestToProxy, agent: options }: TunnelOptions): Agent {
  const agent = new Agent(options);
  const secure = agent.createConnection.bind(agent);

  function openTunnel({ host, port, line }: Tunnelled, opened: Opened): void {
    const name = host ?? '';
    const target = `${isIPv6(name) ? `[${name}]` : name}:${port}`;
    const request = {
      ...options,
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...(proxy.authorization && { 'proxy-authorization': proxy.authorization }) },
      servername: serverNameOf(proxy),
      agent: false as const,
    };
    const asking = requestToProxy(proxy.url, request);
    if (line) line.cut = () => asking.destroy();
    asking.once('connect', (answer, socket) => {
      if (answer.statusCode === 200) return opened(null, socket);
      socket.destroy();
      opened(proxyRefusal(proxy, target, answer.statusCode ?? 0, answer.statusMessage ?? ''));
    });
    asking.once('error', (cause) => opened(proxyError(cause, proxy)));
    asking.end();
  }

  agent.createConnection = (target: Tunnelled, callback) => {
    // Node calls it with an error alone; only its types want a socket then, too.
    const opened = callback as Opened | undefined;
    openTunnel(target, (error, socket) => {
      if (error) return opened?.(error);
      const withSocket = { ...target, socket };
      opened?.(null, secure(withSocket) ?? undefined);
    });
    return undefined;
  };
  return agent;
}
