/** Certificates to trust besides Node's own. They are only ever added: nothing turns a check off. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import * as tls from 'node:tls';
import { ConfigError, messageOf } from './errors.js';

export type TrustFiles = {
  /** A PEM file of one or more certificates (`CHATCLI_CA_BUNDLE`). */
  readonly bundle: string;
  /** The file that Node adds to its store by itself (`NODE_EXTRA_CA_CERTS`). */
  readonly nodeExtra?: string | undefined;
};

const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]+-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

/**
 * The whole list of trusted certificates, in PEM: Node's store and the bundle.
 * @throws {ConfigError} when the bundle can't be read, or holds no certificate or one that is broken.
 */
export async function trustedCertificates({ bundle, nodeExtra }: TrustFiles): Promise<readonly string[]> {
  return [...(await nodeStore(nodeExtra)), ...(await certificatesIn(bundle))];
}

async function certificatesIn(file: string): Promise<readonly string[]> {
  const name = `the certificate file ${file}, named by CHATCLI_CA_BUNDLE`;
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new ConfigError(`Cannot read ${name}: ${messageOf(cause)}.`, { cause });
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  const hint = 'It has to be a PEM file: blocks that begin with -----BEGIN CERTIFICATE-----.';
  if (certificates.length === 0) throw new ConfigError(`There is no certificate in ${name}.`, { hint });
  for (const [index, certificate] of certificates.entries()) {
    try {
      new X509Certificate(certificate);
    } catch (cause) {
      throw new ConfigError(`Certificate ${index + 1} in ${name} is broken: ${messageOf(cause)}.`, { hint, cause });
    }
  }
  return certificates;
}

/**
 * What Node trusts by itself. A list of one's own replaces all of it, the extra file included; only Node 22.15 and
 * later can be asked for the whole of it.
 */
async function nodeStore(extraFile: string | undefined): Promise<readonly string[]> {
  if ('getCACertificates' in tls && typeof tls.getCACertificates === 'function')
    return tls.getCACertificates('default');
  if (!extraFile) return tls.rootCertificates;
  // Where it can't be read Node warns by itself and goes on.
  const text = await readFile(extraFile, 'utf8').catch(() => '');
  return [...tls.rootCertificates, ...(text.match(CERTIFICATE) ?? [])];
}
