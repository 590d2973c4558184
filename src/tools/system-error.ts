/** Errors of the file system, told apart by their code. */

export function isSystemError(thrown: unknown, ...codes: readonly string[]): thrown is NodeJS.ErrnoException {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' && codes.includes(thrown.code);
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  ENOSPC: 'the disk is full',
  EFBIG: 'the file would be larger than is allowed',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'its name is too long',
  EBUSY: 'it is in use',
};

/** Why the system refused, in words; without the path, which the caller names. */
export function systemReason(thrown: unknown): string {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
  return (code && REASONS[code]) ?? code ?? String(thrown);
}
