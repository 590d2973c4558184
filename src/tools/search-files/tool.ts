/** Searches file contents: by ripgrep where there is one, else by our own walk. Both find and show the same. */
import { stat } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import * as z from 'zod';
import { isSecretFile } from '../../permissions/secret-files.js';
import { notAFile } from '../file-read.js';
import { globMatcher, namesHidden } from '../glob.js';
import { showPath } from '../locate.js';
import { missingFile } from '../near-names.js';
import { defineTool, type ToolContext, type ToolOutput } from '../types.js';
import { createFolderReader, forbiddenBy } from '../walk.js';
import { wholeNumber } from '../whole-number.js';
import { findRipgrep } from './find-ripgrep.js';
import { presentHits } from './present.js';
import { searchByRipgrep } from './ripgrep.js';
import { badPattern, type Search } from './search.js';
import doc from './tool.md';
import { searchByWalk } from './walk-search.js';

const DEFAULT_RESULTS = 100;
const MAX_RESULTS = 1000;
const MAX_CONTEXT = 20;

const schema = z.object({
  pattern: z.string(),
  path: z.string().optional(),
  glob: z.string().optional(),
  context: wholeNumber(0).optional(),
  ignore_case: z.boolean().optional(),
  max_results: wholeNumber(1).optional(),
});
type Input = z.output<typeof schema>;

export const searchFilesTool = defineTool({
  name: 'search_files',
  doc,
  permission: 'read',
  concurrency: 'parallel',
  ownTimeout: true,
  schema,
  subjects: ({ path = '.' }) => [{ kind: 'path', path }],
  title: ({ pattern, path }) => (path === undefined ? pattern : `${pattern} in ${path}`),
  async run(input, context): Promise<ToolOutput> {
    const search = await prepare(input, context);
    const ripgrep = await findRipgrep(context);
    const found = ripgrep === undefined ? undefined : await searchByRipgrep(search, { ripgrep, context });
    return presentHits(found ?? (await searchByWalk(search)), search);
  },
});

/** What is searched, with everything settled on which both ways of searching must agree. */
export async function prepare(input: Input, { workspace, signal, fileAccess }: ToolContext): Promise<Search> {
  refuseSenseless(input.pattern);
  const location = await workspace.locate(input.path ?? '.');
  if (!location.exists) throw await missingFile(location);
  const { root } = workspace;
  const found = await stat(location.path);
  const isFile = !found.isDirectory();
  // Ripgrep would wait for ever at the end of a pipe.
  if (isFile && !found.isFile()) throw notAFile(location, found);
  const glob = input.glob || undefined;
  const hidden = glob !== undefined && namesHidden(glob);
  const isForbidden = fileAccess && forbiddenBy(fileAccess);
  const reader = await createFolderReader({ root, base: location.path, hidden, isForbidden });
  const isFree = (path: string) => (fileAccess ? fileAccess(path) === 'free' : !isSecretFile(showPath(root, path)));
  const fits = glob === undefined ? () => true : await globMatcher(glob, { hidden });
  return {
    pattern: input.pattern,
    ignoreCase: input.ignore_case ?? false,
    contextLines: Math.min(input.context ?? 0, MAX_CONTEXT),
    maxResults: Math.min(input.max_results ?? DEFAULT_RESULTS, MAX_RESULTS),
    base: location.path,
    isFile,
    hidden,
    reader,
    signal,
    show: (path) => showPath(root, path),
    // Who names a file was asked for that file; who searches a folder must not come by a secret in passing.
    async wants(path) {
      if (isFile) return path === location.path;
      return fits(relative(location.path, path).split(sep).join('/')) && isFree(path) && (await reader.reaches(path));
    },
  };
}

/** Lines are searched one by one; PCRE2, unlike ripgrep's own engine, would take such a pattern and find nothing. */
function refuseSenseless(pattern: string): void {
  if (pattern === '') throw badPattern(pattern, 'it is empty.');
  if (/\n|(?<!\\)(?:\\\\)*\\n/.test(pattern))
    throw badPattern(pattern, 'it has a line end in it, and lines are searched one by one.');
}
