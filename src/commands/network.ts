/** What every request to one endpoint has in common: the way there, whom to trust, and further headers. */
import type { Config } from '../config/config.js';
import type { HttpClientOptions } from '../http.js';
import { presetNamed } from '../providers/presets.js';

export type Network = Pick<HttpClientOptions, 'proxy' | 'ca' | 'headers'>;

/**
 * The way to hosts that are no endpoint of ours: nothing of what requests to a provider carry goes there.
 * @throws {ConfigError} when the CA bundle can't be used.
 */
export async function openNetwork({ network }: Config): Promise<Pick<Network, 'proxy' | 'ca'>> {
  const ca = await trustedBy(network);
  return { proxy: network.proxy, ...(ca && { ca }) };
}

async function trustedBy({ caBundle: bundle, nodeExtraCertificates: nodeExtra }: Config['network']) {
  return bundle ? (await import('../http-trust.js')).trustedCertificates({ bundle, nodeExtra }) : undefined;
}

/**
 * The network settings for an endpoint. A local preset where it listens by default is always asked straight: a proxy's
 * own 127.0.0.1 is another machine.
 * @throws {ConfigError} when the CA bundle can't be used.
 */
export async function networkFor(
  { network }: Config,
  endpoint: { readonly name: string; readonly baseUrl: string },
): Promise<Network> {
  const preset = presetNamed(endpoint.name);
  const isOwnMachine = preset?.local !== undefined && endpoint.baseUrl === preset.baseUrl;
  const { organization, project } = network;
  const ca = await trustedBy(network);
  return {
    ...(!isOwnMachine && { proxy: network.proxy }),
    ...(ca && { ca }),
    headers: {
      ...(endpoint.name === 'openai' && organization && { 'openai-organization': organization }),
      ...(endpoint.name === 'openai' && project && { 'openai-project': project }),
      ...network.headers,
    },
  };
}
