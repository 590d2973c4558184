/** What .gitignore files keep out of listings and searches, level by level as git reads them. */
import { lstat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { Ignore } from 'ignore';
import { readWhole } from './file-read.js';
import { foldCase, isInside } from './locate.js';
import { ToolFailure } from './types.js';

const MAX_IGNORE_FILE_BYTES = 1_000_000; // Larger ones are no ignore files.
const IS_CASE_BLIND = foldCase('A') === 'a';

/** The rules of one folder's ignore files, for paths below that folder. */
type Matcher = { readonly folder: string; readonly rules: Ignore };

export type IgnoreRules = {
  /**
   * Whether an entry of a folder at or below the base is ignored. Takes the folder itself as not ignored: who walks down
   * has asked for it, and who names an ignored folder wants to see inside.
   */
  ignores(path: string, isFolder: boolean): Promise<boolean>;
  /** Whether folders above the base ignore things in a way that git itself would see alike, base included. */
  readonly isPlain: boolean;
};

/** `root` is the workspace's; rules count from the top of its git repository down, else from `root`. Paths are absolute. */
export async function readIgnoreRules(root: string, base: string): Promise<IgnoreRules> {
  const repository = await repositoryOf(root);
  const top = repository ?? root;
  const chains = new Map<string, Promise<readonly Matcher[]>>();
  let dropped = false;

  /** Matchers for the entries of a folder, outermost first. */
  function chainOf(folder: string): Promise<readonly Matcher[]> {
    const known = chains.get(folder);
    if (known !== undefined) return known;
    const chain = makeChain(folder);
    chains.set(folder, chain);
    return chain;
  }

  async function makeChain(folder: string): Promise<readonly Matcher[]> {
    const own = await readMatcher(folder, folder === repository);
    if (folder === top || !isInside(top, folder)) return own === undefined ? [] : [own];
    const above = await chainOf(dirname(folder));
    // We are inside, so a rule against the folder was lifted by a deeper one, or it was asked for by name.
    const kept = above.filter((matcher) => !verdictOf(matcher, folder, true).ignored);
    if (kept.length < above.length && isInside(folder, base)) dropped = true;
    return own === undefined ? kept : [...kept, own];
  }

  await chainOf(base);
  return {
    isPlain: repository !== undefined && !dropped,
    async ignores(path, isFolder) {
      const chain = await chainOf(dirname(path));
      for (const matcher of [...chain].reverse()) {
        const { ignored, unignored } = verdictOf(matcher, path, isFolder);
        if (ignored || unignored) return ignored;
      }
      return false;
    },
  };
}

function verdictOf({ folder, rules }: Matcher, path: string, isFolder: boolean) {
  const way = relative(folder, path).split(sep).join('/');
  return rules.test(isFolder ? `${way}/` : way);
}

async function repositoryOf(root: string): Promise<string | undefined> {
  for (let folder = root; ; folder = dirname(folder)) {
    const found = await lstat(join(folder, '.git')).catch(() => undefined);
    if (found !== undefined) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

async function readMatcher(folder: string, isRepository: boolean): Promise<Matcher | undefined> {
  const files = isRepository ? [join('.git', 'info', 'exclude'), '.gitignore'] : ['.gitignore'];
  const texts = await Promise.all(files.map((file) => readIfThere(join(folder, file))));
  const rules = texts.filter((text) => text !== undefined);
  if (rules.length === 0) return undefined;
  const { default: ignore } = await import('ignore');
  return { folder, rules: ignore({ ignorecase: IS_CASE_BLIND }).add(rules.join('\n')) };
}

/** Undefined also for what is no plain file: git does not follow a link here either. */
async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return (await readWhole({ path, shown: path, exists: true }, MAX_IGNORE_FILE_BYTES)).toString('utf8');
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return undefined;
    throw thrown;
  }
}
