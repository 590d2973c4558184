/** Shows what files there are: a tree of a folder, or the paths that fit a glob. */
import { stat } from 'node:fs/promises';
import * as z from 'zod';
import { namesHidden } from '../glob.js';
import { missingFile } from '../near-names.js';
import { defineTool, type ToolContext, ToolFailure, type ToolOutput } from '../types.js';
import { createFolderReader, forbiddenBy } from '../walk.js';
import { wholeNumber } from '../whole-number.js';
import type { Location } from '../workspace.js';
import { type Listing, listByPattern } from './by-pattern.js';
import doc from './tool.md';
import { listTree } from './tree.js';

const TREE_DEPTH = 2;
const SHOWN_TO_PEOPLE = 20;

const schema = z.object({
  path: z.string().optional(),
  pattern: z.string().optional(),
  depth: wholeNumber(1).optional(),
  hidden: z.boolean().optional(),
});
type Input = z.output<typeof schema>;

export const listFilesTool = defineTool({
  name: 'list_files',
  doc,
  permission: 'read',
  concurrency: 'parallel',
  schema,
  subjects: ({ path = '.' }) => [{ kind: 'path', path }],
  title: ({ path = '.', pattern }) => (pattern === undefined ? path : `${pattern} in ${path}`),
  async run(input, context): Promise<ToolOutput> {
    const location = await context.workspace.locate(input.path ?? '.');
    await refuseNonFolder(location);
    const { lines, notes } = await list(location, input, context);
    const shown = lines.length > 0 ? lines : [!input.pattern ? '(empty)' : 'No files fit the pattern.'];
    return {
      ok: true,
      output: [...shown, ...notes.map((note) => `[${note}]`)].join('\n'),
      display: {
        kind: 'lines',
        lines: shown.slice(0, SHOWN_TO_PEOPLE),
        ...(shown.length > SHOWN_TO_PEOPLE && { omitted: shown.length - SHOWN_TO_PEOPLE }),
      },
    };
  },
});

async function list(location: Location, input: Input, context: ToolContext): Promise<Listing> {
  const { depth } = input;
  const pattern = input.pattern || undefined;
  const hidden = input.hidden ?? (pattern !== undefined && namesHidden(pattern));
  const { root } = context.workspace;
  const isForbidden = context.fileAccess && forbiddenBy(context.fileAccess);
  const reader = await createFolderReader({ root, base: location.path, hidden, isForbidden });
  const shared = { reader, base: location.path, signal: context.signal };
  return pattern === undefined
    ? listTree({ ...shared, depth: depth ?? TREE_DEPTH })
    : listByPattern({ ...shared, root, pattern, hidden, depth: depth ?? Number.POSITIVE_INFINITY });
}

async function refuseNonFolder(location: Location): Promise<void> {
  if (!location.exists) throw await missingFile(location);
  if ((await stat(location.path)).isDirectory()) return;
  throw new ToolFailure('not-a-folder', `${location.shown} is a file. Use read_file to see what is in it.`);
}
