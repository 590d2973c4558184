/** Reads unified diffs, with git's headers, by the `diff` package. */
import { parsePatch, type StructuredPatch, type StructuredPatchHunk } from 'diff';
import { messageOf } from '../../errors.js';
import { ToolFailure } from '../types.js';
import type { Hunk, HunkLine, Section } from './sections.js';

const NO_FILE = '/dev/null';

export function isUnified(lines: readonly string[]): boolean {
  return lines.some(
    (line, index) =>
      line.startsWith('diff --git ') || (line.startsWith('--- ') && lines[index + 1]?.startsWith('+++ ')),
  );
}

/** @throws {ToolFailure} `bad-patch`. */
export function parseUnified(lines: readonly string[]): readonly Section[] {
  if (lines.some((line) => line === 'GIT binary patch')) throw bad('it changes a binary file.');
  let files: readonly StructuredPatch[];
  try {
    // A fence or a heredoc around it says nothing.
    files = parsePatch(withoutSignature(lines.filter((line) => !/^(```|<<)/.test(line))).join('\n'));
  } catch (thrown) {
    throw bad(`${messageOf(thrown)}. The "*** Begin Patch" format needs no line numbers and counts.`);
  }
  const sections = files.filter((file) => file.oldFileName !== undefined || file.hunks.length > 0).map(toSection);
  if (sections.length === 0) throw bad('it has no files.');
  return sections;
}

/** What `git format-patch` puts at the end of a mail: `-- ` and its version. */
function withoutSignature(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex((line) => line.trim() !== '');
  const isSignature = lines[last - 1]?.trimEnd() === '--' && /^\d+\.\d/.test(lines[last] ?? '');
  return isSignature ? lines.slice(0, last - 1) : lines;
}

function toSection(file: StructuredPatch): Section {
  const { from, to } = namesOf(file);
  const shown = to ?? from ?? '';
  if (file.isBinary) throw bad(`${shown} is a binary file.`);
  for (const mode of [file.oldMode, file.newMode]) {
    if (mode !== undefined && !mode.startsWith('100')) throw bad(`${shown} is a link or a submodule, not a file.`);
  }
  const hunks = file.hunks.map((hunk) => toHunk(hunk, shown));
  const executable = file.newMode === undefined ? {} : { executable: file.newMode === '100755' };
  if (to === undefined) {
    if (from === undefined) throw bad('a part of it names no file.');
    return { kind: 'delete', path: from, hunks };
  }
  if (from === undefined) {
    return { kind: 'add', path: to, content: contentOf(hunks, to), mayReplace: false, ...executable };
  }
  const isMoved = from !== to;
  if (isMoved && !file.isRename && !file.isCopy) {
    throw bad(
      `it has two names for one file, ${from} and ${to}. Give the same one twice; to move a file, use "rename from" and "rename to" as git does.`,
    );
  }
  if (!isMoved && hunks.length === 0 && file.newMode === undefined) throw bad(`${to} has no hunks.`);
  return {
    kind: 'update',
    path: from,
    hunks,
    ...(isMoved && { moveTo: to, mayReplace: false }),
    ...(file.isCopy && { isCopy: true }),
    ...executable,
  };
}

/** Both paths, without git's `a/` and `b/`; undefined where there is no file on that side. */
function namesOf(file: StructuredPatch): { readonly from: string | undefined; readonly to: string | undefined } {
  const [old, fresh] = [file.oldFileName, file.newFileName];
  if (old === undefined || fresh === undefined) throw bad('a hunk has no "--- PATH" and "+++ PATH" lines before it.');
  const [isNew, isGone] = [file.isCreate || old === NO_FILE, file.isDelete || fresh === NO_FILE];
  const [bareOld, bareFresh] = [withoutPrefix(old, 'a/'), withoutPrefix(fresh, 'b/')];
  const isPrefixed = (old === NO_FILE || bareOld !== old) && (fresh === NO_FILE || bareFresh !== fresh);
  // Some put the prefix before one of two names only.
  const isHalfPrefixed = !file.isRename && !file.isCopy && old !== fresh && bareOld === bareFresh;
  const [from, to] = isPrefixed || isHalfPrefixed ? [bareOld, bareFresh] : [old, fresh];
  return { from: isNew ? undefined : from, to: isGone ? undefined : to };
}

function withoutPrefix(name: string, prefix: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

function toHunk({ oldStart, oldLines, newStart, newLines, lines }: StructuredPatchHunk, path: string): Hunk {
  const read: HunkLine[] = [];
  for (const line of lines) {
    const sign = line[0] ?? ' ';
    if (sign === '\\') {
      const last = read.pop();
      if (last !== undefined) read.push({ ...last, isOpen: true });
    } else if (sign === ' ' || sign === '-' || sign === '+') {
      read.push({ sign, text: line.slice(1) });
    } else throw bad(`a hunk of ${path} has the line ${JSON.stringify(line)}.`);
  }
  const atEnd = read.some(({ sign, isOpen }) => isOpen && sign !== '+');
  const header = `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`;
  return { header, anchors: [], lines: read, atEnd, position: oldStart - 1 };
}

function contentOf(hunks: readonly Hunk[], path: string): string {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  if (lines.some(({ sign }) => sign !== '+')) throw bad(`${path} is new, but has lines that are not added.`);
  return lines.map(({ text, isOpen }) => (isOpen ? text : `${text}\n`)).join('');
}

function bad(problem: string): ToolFailure {
  return new ToolFailure('bad-patch', `The diff cannot be read: ${problem}\nNothing was written.`);
}
