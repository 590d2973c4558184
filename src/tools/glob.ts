/** Globs as .gitignore and ripgrep users write them. */
import { messageOf } from '../errors.js';
import { ToolFailure } from './types.js';

/**
 * Tests paths (relative, forward slashes) against a glob. One without a slash fits the name at any depth. Few runs have
 * a glob, so that the 25 kB that read one are loaded for the first.
 * @throws {ToolFailure} `bad-pattern`.
 */
export async function globMatcher(
  pattern: string,
  options: { readonly hidden: boolean },
): Promise<(path: string) => boolean> {
  const { default: picomatch } = await import('picomatch');
  const glob = pattern.replace(/^(\.?\/)+/, '').replace(/\/$/, '');
  try {
    const matches = picomatch(glob, { dot: options.hidden, basename: !glob.includes('/') });
    return (path) => matches(path);
  } catch (cause) {
    throw new ToolFailure('bad-pattern', `${JSON.stringify(pattern)} is not a glob: ${messageOf(cause)}`, { cause });
  }
}

/** Whether a glob names something with a dot in front: who does so wants to see it. */
export function namesHidden(pattern: string): boolean {
  return /(^|\/)\.(?!\.?\/)/.test(pattern);
}
