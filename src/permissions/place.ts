/** Where a run works, as far as the policy needs to know; and whether a path is in there. */
import { isAbsolute, relative, sep } from 'node:path';

export type Place = {
  /** Real paths of the workspace's folders, absolute, the main one first. */
  readonly roots: readonly string[];
  /** The person's home: what `~/` means in a rule. */
  readonly home?: string;
  /** Follows links of an absolute path, e.g. `nearestRealPath`. Without it only names are judged. */
  readonly realPath?: (path: string) => string;
};

/** A path as it is written and as it leads. */
export function spellingsOf(path: string, { realPath }: Place): readonly string[] {
  if (realPath === undefined) return [path];
  const real = realPath(path);
  return real === path ? [path] : [path, real];
}

/** Whether `path` is `folder` or below it. Both are absolute. */
export function isInsideFolder(folder: string, path: string): boolean {
  const below = relative(folder, path);
  return below !== '..' && !below.startsWith(`..${sep}`) && !isAbsolute(below);
}

export function rootOf(path: string, { roots }: Place): string | undefined {
  return roots.find((root) => isInsideFolder(root, path));
}

export function isInside(path: string, place: Place): boolean {
  return spellingsOf(path, place).every((spelling) => rootOf(spelling, place) !== undefined);
}
