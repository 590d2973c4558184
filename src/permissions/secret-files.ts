/** Which files hold secrets by convention. Looks at names only; where a link leads is the caller's to find out. */
import { foldedSegments } from './path-segments.js';

const SECRET_FOLDERS = new Set(['.ssh', '.aws', '.gnupg']);
const SECRET_NAMES = new Set(['.env', '.netrc', '_netrc', '.npmrc', '.pypirc', '.git-credentials']);

// A private key as ssh names it: one of its own names, also as a backup, or any other `id_…` without an extension, so
// that `id_map.py` stays an ordinary file. The `.pub` half is public.
const PRIVATE_KEY = /^id_(?:(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:\.(?!pub$).*)?|[^.]+)$/;

/** Whether a file is to be read only after a question: `.env`, private keys, credentials, the environment of processes. */
export function isSecretFile(path: string): boolean {
  const segments = foldedSegments(path);
  const name = segments.at(-1) ?? '';
  if (SECRET_NAMES.has(name) || name.endsWith('.pem') || PRIVATE_KEY.test(name)) return true;
  // What editors leave beside a file, and what Windows takes for its name.
  if (/^\.env(?:~| +$|::)|\.pem~$/.test(name)) return true;
  if (name.startsWith('.env.') && name !== '.env.example') return true;
  if (segments.some((segment, index) => segment === '.config' && segments[index + 1] === 'gh')) return true;
  if (/^[\\/]+proc(?:[\\/]|$)/.test(path)) return true;
  return segments.some((segment) => SECRET_FOLDERS.has(segment));
}
