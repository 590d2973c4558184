/**
 * The globs of path rules, as .gitignore reads them. Own code, held against the package `ignore` by a test: the policy
 * is asked for each file of a walk, must not wait, and is part of every start, of which that package would take 6 ms.
 */

export type PathGlob = {
  /** What the glob counts from: the folders of the workspace, the root of the disk, or the person's home. */
  readonly base: 'workspace' | 'disk' | 'home';
  /** For a path relative to that base, with forward slashes: it, and all that is below it. */
  readonly pattern: string;
  /** The path that it names, relative to its base, where it is one and no pattern. */
  readonly literal: string | undefined;
};

/** Reads `src/**`, `.env`, `./a.ts`, `//abs/path` or `~/x`; a text where it is none: what is wrong with it. */
export function readGlob(spec: string): PathGlob | string {
  if (spec.startsWith('!')) return 'a path that begins with "!" would turn the rule round';
  if (/[\p{Cc}]/u.test(spec)) return 'it has a control character in it';
  if (spec.split('/').includes('..'))
    return 'it has ".." in it: name the path from the workspace, or as //ABSOLUTE/PATH';
  const [base, rest] = baseOf(spec);
  const isAnchored = base !== 'workspace' || rest.startsWith('./') || rest.replace(/\/+$/, '').includes('/');
  const glob = rest.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '');
  if (glob === '' || glob === '.') return 'it names no path';
  const body = translate(glob);
  if (body === undefined) return 'its brackets do not match';
  const start = isAnchored || glob.startsWith('**/') ? '' : '(?:.*/)?';
  return {
    base,
    pattern: `^${start}${body}$`,
    literal: isAnchored && !/[*?[\]]/.test(glob.replace(/\\./g, '')) ? glob.replace(/\\(.)/g, '$1') : undefined,
  };
}

/** A spec that names this very path of the workspace (relative, forward slashes) and no other. */
export function specFor(path: string): string {
  return `./${path.replace(/[\\*?[\]]/g, '\\$&')}`;
}

/** Whether a glob covers a path relative to its base. */
export function globFits({ pattern }: PathGlob, path: string, options: { readonly ignoreCase: boolean }): boolean {
  return expressionFor(pattern, options.ignoreCase).test(path);
}

const compiled = new Map<string, RegExp>();

function expressionFor(pattern: string, ignoreCase: boolean): RegExp {
  const key = `${ignoreCase ? 'i' : '='}${pattern}`;
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const made = new RegExp(pattern, ignoreCase ? 'isu' : 'su');
  compiled.set(key, made);
  return made;
}

function baseOf(spec: string): readonly [PathGlob['base'], string] {
  if (spec.startsWith('//')) return ['disk', spec.slice(1)];
  if (spec === '~' || spec.startsWith('~/')) return ['home', spec.slice(1)];
  return ['workspace', spec];
}

function translate(glob: string): string | undefined {
  const segments = glob.split(/(?<!\\)\/+/);
  let expression = '';
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    if (segment === '**') {
      // Below a folder, and not the folder itself.
      expression += isLast ? '.+' : '(?:.*/)?';
      continue;
    }
    const part = translateSegment(segment);
    if (part === undefined) return undefined;
    expression += isLast ? `${part}(?:/.*)?` : `${part}/`;
  }
  return expression;
}

const CLASS = /^\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]/;

function translateSegment(segment: string): string | undefined {
  let expression = '';
  for (let at = 0; at < segment.length; ) {
    const character = segment[at] ?? '';
    if (character === '*') {
      while (segment[at + 1] === '*') at++;
      expression += '[^/]*';
    } else if (character === '?') expression += '[^/]';
    else if (character === '[') {
      const [whole, not, members] = CLASS.exec(segment.slice(at)) ?? [];
      if (whole === undefined || members === undefined || members === '') return undefined;
      expression += classOf(not !== '', members);
      at += whole.length - 1;
    } else if (character === '\\' && at + 1 < segment.length) expression += escaped(segment[++at] ?? '');
    else expression += escaped(character);
    at++;
  }
  return expression;
}

function classOf(isNegated: boolean, members: string): string {
  const inside = members.replace(/\\(.)/gs, '$1').replace(/[\\\][&|~^]/g, '\\$&');
  return isNegated ? `[^/${inside}]` : `(?!/)[${inside}]`;
}

/** Also what lies outside the plane that one UTF-16 unit holds stays whole: each half is its own character here. */
function escaped(character: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character;
}
