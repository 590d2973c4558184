import fc from 'fast-check';
import ignore from 'ignore';
import { describe, expect, it } from 'vitest';
import { globFits, readGlob, specFor } from '../../src/permissions/path-glob.js';

const fits = (glob: string, path: string, ignoreCase = false) => {
  const read = readGlob(glob);
  if (typeof read === 'string') throw new Error(read);
  return globFits(read, path, { ignoreCase });
};

const names = fc.constantFrom('a', 'b', 'ab', '.env', 'src', 'x.ts', 'A');
const paths = fc.array(names, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
const pieces = fc.constantFrom(
  'a',
  'b',
  'ab',
  '.env',
  'src',
  '*.ts',
  '*',
  '**',
  '?',
  'a*',
  '[ab]',
  '[!a]',
  '[a-c]b',
  'x.ts',
);
const globs = fc
  .tuple(fc.constantFrom('', '/'), fc.array(pieces, { minLength: 1, maxLength: 4 }))
  .map(([start, parts]) => start + parts.join('/'));

describe('the globs of path rules', () => {
  it('fit what the package `ignore` says that a line of .gitignore fits', () => {
    fc.assert(
      fc.property(globs, paths, (glob, path) => {
        expect([glob, path, fits(glob, path)]).toEqual([
          glob,
          path,
          ignore({ ignorecase: false }).add(glob).ignores(path),
        ]);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['./a', 'a', true],
    ['./a', 'b/a', false],
    ['./a/', 'a/b', true],
    ['a/', 'x/a/b', true],
    ['**', 'a/b', true],
    ['src/**', 'src', false],
    ['a.b', 'axb', false],
    [String.raw`\*`, '*', true],
    [String.raw`\*`, 'a', false],
    ['*', 'é🙂', true],
  ])('%s and %s: %s', (glob, path, expected) => {
    expect(fits(glob, path)).toBe(expected);
  });

  it('name any path of the workspace, and nothing else', () => {
    const characters = fc.constantFrom('a', '.', '*', '?', '[', ']', '\\', ' ', '{', '(', 'é', '!', '#');
    const name = fc.string({ unit: characters, minLength: 1, maxLength: 6 }).filter((text) => !/^\.{1,2}$/.test(text));
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
    fc.assert(
      fc.property(path, path, (one, other) => {
        const glob = readGlob(specFor(one));
        if (typeof glob === 'string') throw new Error(glob);
        expect(glob.literal).toBe(one);
        expect(globFits(glob, one, { ignoreCase: false })).toBe(true);
        expect(globFits(glob, other, { ignoreCase: false })).toBe(other === one || other.startsWith(`${one}/`));
      }),
      { numRuns: 2_000 },
    );
  });
});
