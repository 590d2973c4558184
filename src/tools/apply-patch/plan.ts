/** Works out what a patch makes of the files, section by section, on what the sections before made of them. Writes nothing. */
import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { changedSpan, type TextChange } from '../diff-display.js';
import { foldCase } from '../locate.js';
import { missingFile } from '../near-names.js';
import { omissionLine } from '../omission.js';
import { decodeText, encodeText, type TextFile } from '../text-file.js';
import { ToolFailure } from '../types.js';
import { refuseUnseen } from '../unseen-change.js';
import type { FileChange, Location, Workspace } from '../workspace.js';
import { type PatchedText, patchText } from './patch-text.js';
import type { Section } from './sections.js';

const MAX_FILE_BYTES = 10_000_000; // As edit_file: beyond it a script serves better.

/** What one section does. */
export type Done = {
  readonly kind: 'added' | 'replaced' | 'changed' | 'moved' | 'copied' | 'deleted';
  readonly shown: string;
  /** Where it went, for what was moved or copied. */
  readonly to?: string;
  readonly reports: PatchedText['reports'];
  /** Undefined where there is no text to compare. */
  readonly change: TextChange | undefined;
};

export type Plan = { readonly changes: readonly FileChange[]; readonly done: readonly Done[] };

/** A file as the sections so far leave it; `bytes` null: it is not there. */
type FileState = {
  readonly location: Location;
  readonly original: Buffer | null;
  /** Refuses the whole file to a section that did not say what it has, where it is not what the model last saw. */
  readonly refuseUnseen: () => void;
  bytes: Buffer | null;
  attributes?: NonNullable<FileChange['attributes']>;
  executable?: boolean;
};

/** `locations` has every path of the patch. @throws {ToolFailure} when any section can't be carried out. */
export async function planPatch(
  sections: readonly Section[],
  locations: ReadonlyMap<string, Location>,
  workspace: Workspace,
): Promise<Plan> {
  const states = new Map<string, FileState>();
  const stateOf = async (path: string): Promise<FileState> => {
    const location = locations.get(path);
    if (location === undefined) throw new Error(`${path} is a path of the patch.`);
    const key = foldCase(location.path);
    const state = states.get(key) ?? (await readState(location, workspace));
    states.set(key, state);
    return state;
  };

  const done: Done[] = [];
  for (const section of sections) done.push(await carryOut(section, stateOf, workspace));
  const all = [...states.values()].flatMap(changeOf);
  // What is removed comes last: a crash in between leaves a file twice rather than not at all.
  return {
    done,
    changes: [...all.filter(({ bytes }) => bytes !== null), ...all.filter(({ bytes }) => bytes === null)],
  };
}

async function readState(location: Location, workspace: Workspace): Promise<FileState> {
  const known = workspace.knownHash(location);
  try {
    const bytes = await workspace.read(location, MAX_FILE_BYTES);
    const refuse = () => refuseUnseen(workspace, location, { known, bytes });
    return { location, original: bytes, bytes, refuseUnseen: refuse };
  } catch (thrown) {
    if (!(thrown instanceof ToolFailure) || thrown.code !== 'file-missing') throw thrown;
    return { location, original: null, bytes: null, refuseUnseen: () => undefined };
  }
}

function changeOf({ location, original, bytes, attributes, executable }: FileState): readonly FileChange[] {
  const isSame = original === null || bytes === null ? original === bytes : original.equals(bytes);
  if (isSame && (bytes === null || executable === undefined)) return [];
  return [
    {
      location,
      bytes,
      replaces: original,
      ...(attributes && { attributes }),
      ...(executable !== undefined && { executable }),
    },
  ];
}

type StateOf = (path: string) => Promise<FileState>;

async function carryOut(section: Section, stateOf: StateOf, workspace: Workspace): Promise<Done> {
  switch (section.kind) {
    case 'add':
      return add(section, await stateOf(section.path));
    case 'delete':
      await refuseLink(section.path, (await stateOf(section.path)).location, workspace);
      return remove(section, await stateOf(section.path));
    case 'update':
      return update(section, stateOf, workspace);
    default:
      return section satisfies never;
  }
}

function add(section: Extract<Section, { kind: 'add' }>, state: FileState): Done {
  const { shown } = state.location;
  const before = state.bytes;
  if (before !== null && !section.mayReplace)
    throw new ToolFailure('already-exists', `${shown} is there already, and the diff says that it is new.`);
  if (before !== null) state.refuseUnseen();
  const old = before === null ? undefined : textOrUndefined(before, shown);
  const omission = before === null ? undefined : omissionLine(section.content, old?.text ?? '');
  if (omission !== undefined) {
    throw new ToolFailure(
      'placeholder',
      `${shown}: its new content has the line ${JSON.stringify(omission)}, which stands for text left out. Give all of it, or use "*** Update File".`,
    );
  }
  // As write_file: a file keeps its byte order mark, and line ends that are all CRLF.
  const isCrlf = old?.text.includes('\r\n') === true && !/(?<!\r)\n/.test(old.text);
  const text = isCrlf ? section.content.replaceAll('\n', '\r\n') : section.content;
  const bom = old?.bom === true && !text.startsWith('\ufeff');
  state.bytes = encodeText({ encoding: 'utf-8', bom, text });
  if (section.executable !== undefined) state.executable = section.executable;
  const change = old === undefined && before !== null ? undefined : wholeChange(shown, old?.text ?? '', text);
  return { kind: before === null ? 'added' : 'replaced', shown, reports: [], change };
}

async function remove(section: Extract<Section, { kind: 'delete' }>, state: FileState): Promise<Done> {
  const { shown } = state.location;
  const bytes = await contentOf(state);
  if (section.hunks !== undefined) {
    const rest =
      section.hunks.length === 0 ? bytes.toString() : patchText(decodeText(bytes, shown), section.hunks, shown).text;
    if (rest !== '')
      throw new ToolFailure('not-found', `${shown} has more in it than the diff takes away, so it was not deleted.`);
  } else state.refuseUnseen();
  forget(state);
  const old = textOrUndefined(bytes, shown);
  return { kind: 'deleted', shown, reports: [], change: old && wholeChange(shown, old.text, '') };
}

async function update(
  section: Extract<Section, { kind: 'update' }>,
  stateOf: StateOf,
  workspace: Workspace,
): Promise<Done> {
  const { path, moveTo, hunks, isCopy = false, mayReplace = true, executable } = section;
  const source = await stateOf(path);
  const { shown } = source.location;
  const bytes = await contentOf(source);
  const { after, reports, change } = patched(bytes, hunks, shown);
  const target = moveTo === undefined ? source : await stateOf(moveTo);
  if (target === source) {
    if (after.equals(bytes) && executable === undefined)
      throw new ToolFailure('no-change', `${shown} would stay as it is: the patch adds what it removes.`);
    source.bytes = after;
    if (executable !== undefined) source.executable = executable;
    return { kind: 'changed', shown, reports, change };
  }
  if (target.bytes !== null && !mayReplace) {
    throw new ToolFailure(
      'already-exists',
      `${target.location.shown} is there already, and the diff says that it is new.`,
    );
  }
  if (target.bytes !== null) target.refuseUnseen();
  target.bytes = after;
  const attributes = source.attributes ?? (await attributesOf(source));
  if (attributes !== undefined) target.attributes = attributes;
  const mode = executable ?? source.executable;
  if (mode !== undefined) target.executable = mode;
  const to = target.location.shown;
  if (isCopy) return { kind: 'copied', shown, to, reports, change };
  await refuseLink(path, source.location, workspace);
  forget(source);
  return { kind: 'moved', shown, to, reports, change };
}

function patched(bytes: Buffer, hunks: Extract<Section, { kind: 'update' }>['hunks'], shown: string) {
  // Without hunks a file of any kind can be moved.
  if (hunks.length === 0) return { after: bytes, reports: [], change: undefined };
  const file = decodeText(bytes, shown);
  const { text, spans, reports } = patchText(file, hunks, shown);
  return {
    after: encodeText({ ...file, text }),
    reports,
    change: { path: shown, before: file.text, after: text, spans },
  };
}

async function contentOf({ location, bytes, original }: FileState): Promise<Buffer> {
  if (bytes !== null) return bytes;
  if (original === null) throw await missingFile(location);
  throw new ToolFailure(
    'file-missing',
    `${location.shown} is not there any more: the patch moves or deletes it before.`,
  );
}

function forget(state: FileState): void {
  state.bytes = null;
  delete state.executable;
  delete state.attributes;
}

/** A file that an earlier section makes has none yet. */
async function attributesOf({ location, original }: FileState): Promise<FileChange['attributes']> {
  if (original === null) return undefined;
  const { mode, uid, gid } = await lstat(location.path);
  return { mode, uid, gid };
}

/** Removing what a link leads to would leave the link behind; the link itself is not what was read. */
async function refuseLink(path: string, location: Location, workspace: Workspace): Promise<void> {
  const folder = await workspace.locate(dirname(path));
  if (foldCase(join(folder.path, basename(path))) === foldCase(location.path)) return;
  throw new ToolFailure(
    'not-a-file',
    `${path} is a link to ${location.shown}. Delete or move that file by its own name, or the link with a shell command.`,
  );
}

function textOrUndefined(bytes: Buffer, shown: string): TextFile | undefined {
  try {
    return decodeText(bytes, shown);
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return undefined;
    throw thrown;
  }
}

function wholeChange(path: string, before: string, after: string): TextChange {
  return { path, before, after, spans: [changedSpan(before, after)] };
}
