/** Changes several files by one patch, all or none. Reading it is `parse.ts`, working it out `plan.ts`; this writes and tells. */
import * as z from 'zod';
import type { Display, FileDiff } from '../../events/types.js';
import { diffDisplay, wholeDiff } from '../diff-display.js';
import { defineTool, type ToolContext, ToolFailure } from '../types.js';
import type { Location } from '../workspace.js';
import { parsePatch } from './parse.js';
import { type Done, type Plan, planPatch } from './plan.js';
import { pathsOf, type Section } from './sections.js';
import type { Layer } from './text-lines.js';
import doc from './tool.md';

const MAX_SHOWN_LINES = 200; // Of all files together: several screens.
const schema = z.object({ patch: z.string() });

export const applyPatchTool = defineTool({
  name: 'apply_patch',
  doc,
  permission: 'write',
  concurrency: 'path',
  schema,
  // A patch that can't be read throws here: it fails before anyone is asked about it.
  subjects: ({ patch }) => pathsOf(parsePatch(patch)).map((path) => ({ kind: 'path', path })),
  async preview({ patch }, context) {
    const sections = parsePatch(patch);
    const { done } = await planOrNothing(sections, await locateAll(sections, context), context);
    return displayOf(done, { whole: true });
  },
  async run({ patch }, context) {
    const sections = parsePatch(patch);
    const locations = await locateAll(sections, context);
    const paths = [...locations.values()].map(({ path }) => path);
    return context.workspace.lockAll(paths, async () => {
      const { changes, done } = await planOrNothing(sections, locations, context);
      await context.workspace.changeTogether(changes);
      return {
        ok: true,
        output: done.map(describe).join('\n'),
        touched: changes.map(({ location }) => location.shown),
        display: displayOf(done, { whole: false }),
      };
    });
  },
});

async function locateAll(
  sections: readonly Section[],
  { workspace }: ToolContext,
): Promise<ReadonlyMap<string, Location>> {
  const locations = new Map<string, Location>();
  for (const path of pathsOf(sections)) locations.set(path, await workspace.locate(path));
  return locations;
}

/** Whatever is wrong with one section, the model has to know that the others did not come about either. */
async function planOrNothing(
  sections: readonly Section[],
  locations: ReadonlyMap<string, Location>,
  { workspace }: ToolContext,
): Promise<Plan> {
  try {
    return await planPatch(sections, locations, workspace);
  } catch (thrown) {
    if (!(thrown instanceof ToolFailure)) throw thrown;
    throw new ToolFailure(thrown.code, `${thrown.message}\nNothing of the patch was applied.`, { cause: thrown });
  }
}

const VERBS: Readonly<Record<Done['kind'], string>> = {
  added: 'Added',
  replaced: 'Replaced',
  changed: 'Changed',
  moved: 'Moved',
  copied: 'Copied',
  deleted: 'Deleted',
};

const LAYER_NOTES: Readonly<Record<Exclude<Layer, 'exact'>, string>> = {
  'trailing-blanks': 'found not counting blanks at line ends',
  'outer-blanks': 'found not counting indentation; new lines are as the patch has them',
  'look-alikes': 'found taking characters that look alike for the same',
};

function describe({ kind, shown, to, reports }: Done): string {
  const places = reports.map(({ line, layer }) => `line ${line}${layer === 'exact' ? '' : ` (${LAYER_NOTES[layer]})`}`);
  const where = places.length === 0 ? '' : `: ${places.join(', ')}`;
  return `${VERBS[kind]} ${shown}${to === undefined ? '' : ` to ${to}`}${where}.`;
}

/** One diff alone where the patch does no more than change one file. */
function displayOf(done: readonly Done[], { whole }: { readonly whole: boolean }): Display {
  const [only] = done;
  if (done.length === 1 && only?.kind === 'changed' && only.change !== undefined)
    return whole ? wholeDiff(only.change) : diffDisplay(only.change);
  let room = MAX_SHOWN_LINES;
  const files = done.map((each): FileDiff => {
    const diff = fileDiffOf(each, whole);
    if (whole) return diff;
    const lines = diff.lines.slice(0, Math.max(room, 0));
    room -= lines.length;
    const omitted = (diff.omitted ?? 0) + diff.lines.length - lines.length;
    return { ...diff, lines, ...(omitted > 0 && { omitted }) };
  });
  return { kind: 'diffs', files };
}

function fileDiffOf({ kind, shown, to, change }: Done, whole: boolean): FileDiff {
  const what = { path: to ?? shown, action: kind, ...(to !== undefined && { from: shown }) } as const;
  if (change === undefined) return { ...what, added: 0, removed: 0, lines: [] };
  const { added, removed, lines, omitted } = whole ? wholeDiff(change) : diffDisplay(change);
  return { ...what, added, removed, lines, ...(omitted !== undefined && { omitted }) };
}
