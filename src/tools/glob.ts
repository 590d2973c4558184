/** Globs as .gitignore and ripgrep users write them. */
import picomatch from 'picomatch';
import { messageOf } from '../errors.js';
import { ToolFailure } from './types.js';

/**
 * Tests paths (relative, forward slashes) against a glob. One without a slash fits the name at any depth.
 * @throws {ToolFailure} `bad-pattern`.
 */
export function globMatcher(pattern: string, options: { readonly hidden: boolean }): (path: string) => boolean {
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
