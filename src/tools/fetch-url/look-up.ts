/** Asks the system for the addresses of a name, as it does for every program: hosts file, name servers, search list. */
import { lookup } from 'node:dns/promises';
import type { Address } from '../../http.js';

export async function lookUp(name: string): Promise<readonly Address[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}
