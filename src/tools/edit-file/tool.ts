/** Changes parts of a file. Finding the places and making the new text is `apply-edits.ts`; this reads and writes. */
import * as z from 'zod';
import { diffDisplay, type TextChange, wholeDiff } from '../diff-display.js';
import { missingFile } from '../near-names.js';
import { decodeText, encodeText, type TextFile } from '../text-file.js';
import { defineTool, type ToolContext, ToolFailure, type ToolOutput } from '../types.js';
import { hashOf, type Location } from '../workspace.js';
import { applyEdits, type EditedText, LAYER_NOTES, nameLines } from './apply-edits.js';
import type { Edit } from './places.js';
import doc from './tool.md';

const MAX_FILE_BYTES = 10_000_000; // An edit holds the file several times; beyond this a script serves better.

const edit = { old_string: z.string(), new_string: z.string(), replace_all: z.boolean().optional() };
const schema = z.object({
  path: z.string(),
  old_string: edit.old_string.optional(),
  new_string: edit.new_string.optional(),
  replace_all: edit.replace_all,
  edits: z.array(z.object(edit)).optional(),
});
type Input = z.output<typeof schema>;

export const editFileTool = defineTool({
  name: 'edit_file',
  doc,
  permission: 'write',
  concurrency: 'path',
  schema,
  subjects: ({ path }) => [{ kind: 'path', path }],
  async preview(input, context) {
    const location = await context.workspace.locate(input.path);
    return wholeDiff((await planEdit(location, editsOf(input), context)).change);
  },
  async run(input, context) {
    const edits = editsOf(input);
    const location = await context.workspace.locate(input.path);
    return context.workspace.lock(location.path, async () => {
      const { bytes, replaces, result, change } = await planEdit(location, edits, context);
      await context.workspace.write(location, bytes, { replaces });
      return { ...result, display: diffDisplay(change) };
    });
  },
});

/** @throws {ToolFailure} `bad-arguments` where it can't be told what is meant. */
function editsOf({ old_string, new_string, replace_all, edits }: Input): readonly Edit[] {
  const isSingle = old_string !== undefined || new_string !== undefined;
  if (edits !== undefined && edits.length > 0) {
    if (!isSingle) return edits.map(toEdit);
    throw new ToolFailure('bad-arguments', 'Give either old_string and new_string, or edits, not both.');
  }
  if (old_string === undefined || new_string === undefined) {
    const missing = !isSingle ? 'old_string and new_string' : old_string === undefined ? 'old_string' : 'new_string';
    throw new ToolFailure('bad-arguments', `${missing} must be given, or edits with at least one edit.`);
  }
  return [toEdit({ old_string, new_string, replace_all })];
}

function toEdit(given: z.output<z.ZodObject<typeof edit>>): Edit {
  return { old: given.old_string, new: given.new_string, all: given.replace_all ?? false };
}

type Plan = {
  readonly bytes: Uint8Array;
  readonly replaces: Uint8Array | null;
  readonly change: TextChange;
  readonly result: ToolOutput;
};

/** Works out the edits on what the file holds now; nothing is written. */
async function planEdit(location: Location, edits: readonly Edit[], { workspace }: ToolContext): Promise<Plan> {
  const { shown } = location;
  const known = workspace.knownHash(location);
  const bytes = location.exists ? await workspace.read(location, MAX_FILE_BYTES) : undefined;
  if (bytes === undefined && edits[0]?.old !== '') throw await missingFile(location);

  const file: TextFile = bytes === undefined ? { encoding: 'utf-8', bom: false, text: '' } : decodeText(bytes, shown);
  const edited = applyOrSayChanged(
    file,
    edits,
    shown,
    bytes !== undefined && known !== undefined && known !== hashOf(bytes),
  );
  const result: ToolOutput = {
    ok: true,
    output: describe(shown, edited, bytes === undefined),
    touched: [shown],
  };
  const change = { path: shown, before: file.text, after: edited.text, spans: edited.spans };
  return { bytes: encodeText({ ...file, text: edited.text }), replaces: bytes ?? null, change, result };
}

/** A file that changed meanwhile is no hindrance as long as the edit still fits; it explains one that does not. */
function applyOrSayChanged(file: TextFile, edits: readonly Edit[], shown: string, hasChanged: boolean): EditedText {
  try {
    return applyEdits(file, edits, shown);
  } catch (thrown) {
    if (!hasChanged || !(thrown instanceof ToolFailure) || thrown.code !== 'not-found') throw thrown;
    const message = `${thrown.message}\n${shown} changed on disk since you last read or wrote it.`;
    throw new ToolFailure(thrown.code, message, { cause: thrown });
  }
}

function describe(shown: string, { reports }: EditedText, isNew: boolean): string {
  if (isNew) return `Created ${shown}.`;
  const parts = reports.map(({ count, lines, layer }) => {
    const times = count === 1 ? '' : `${count} replacements, `;
    return `${times}${nameLines(lines)}${layer === 'exact' ? '' : ` (found ${LAYER_NOTES[layer]})`}`;
  });
  return `Edited ${shown}: ${parts.join('; ')}.`;
}
