/** Searches without ripgrep: our own walk, JavaScript's regular expressions, and limits that ripgrep does not need. */
import { isUtf8 } from 'node:buffer';
import { createContext, Script } from 'node:vm';
import { messageOf } from '../../errors.js';
import { readWhole } from '../file-read.js';
import { showBytes, wideEncoding } from '../text-file.js';
import { ToolFailure } from '../types.js';
import { walk } from '../walk.js';
import { badPattern, clipLine, type FileHits, type Found, type FoundLine, type Search } from './search.js';

const MAX_FILE_BYTES = 10_000_000;
/** A pattern like `(a+)+$` may take for ever on a single line: each file gets this long, all of them together that long. */
const FILE_LIMIT_MS = 1000;
const TIME_LIMIT_MS = 30_000;
const MAX_SLOW_FILES = 3; // After so many it is the pattern, not the file.

/** @throws {ToolFailure} `bad-pattern`. */
export async function searchByWalk(search: Search): Promise<Found> {
  const find = createFinder(compile(search.pattern, search.ignoreCase));
  const startedAt = performance.now();
  const files: FileHits[] = [];
  const left = { large: 0, slow: 0 };
  let room = search.maxResults;
  let isCut = false;
  let isLate = false;
  for await (const path of filesOf(search)) {
    search.signal.throwIfAborted();
    isLate = performance.now() - startedAt > TIME_LIMIT_MS;
    if (isLate) break;
    const lines = await readLines(path);
    if (lines === 'too-large') left.large++;
    if (typeof lines === 'string') continue;
    const hits = find(lines, room + 1);
    if (hits === undefined) {
      left.slow++;
      if (left.slow === MAX_SLOW_FILES)
        throw badPattern(search.pattern, 'it takes too long, because it can match in too many ways.');
      continue;
    }
    const kept = hits.slice(0, room);
    if (kept.length > 0) files.push({ path, lines: withContext(lines, kept, search.contextLines) });
    room -= kept.length;
    isCut = hits.length > kept.length;
    if (isCut) break;
  }
  const notes = [
    ...(left.large > 0 ? [`Not searched: ${left.large} files of more than ${MAX_FILE_BYTES / 1_000_000} MB.`] : []),
    ...(left.slow > 0 ? [`Not searched: ${left.slow} files on which the pattern takes too long.`] : []),
    ...(isLate ? [`Stopped after ${TIME_LIMIT_MS / 1000} s; search a smaller path.`] : []),
  ];
  return { files, isCut, notes };
}

async function* filesOf(search: Search): AsyncGenerator<string> {
  if (search.isFile) {
    yield search.base;
    return;
  }
  const options = { signal: search.signal, maxDepth: Number.POSITIVE_INFINITY };
  for await (const { path, kind } of walk(search.reader, search.base, options)) {
    if (kind === 'file' && (await search.wants(path))) yield path;
  }
}

/** The lines of a text file; `skip` for what is none, or can't be read. */
async function readLines(path: string): Promise<readonly string[] | 'skip' | 'too-large'> {
  let bytes: Buffer;
  try {
    bytes = await readWhole({ path, shown: path, exists: true }, MAX_FILE_BYTES);
  } catch (thrown) {
    if (!(thrown instanceof ToolFailure)) throw thrown;
    return thrown.code === 'too-large' ? 'too-large' : 'skip';
  }
  const wide = wideEncoding(bytes);
  if (wide === undefined && bytes.includes(0)) return 'skip';
  if (wide?.startsWith('UTF-32')) return 'skip';
  const text = wide === undefined && !isUtf8(bytes) ? showBytes(bytes) : new TextDecoder(wide).decode(bytes);
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

type Hit = { readonly index: number; readonly column: number };

/**
 * Finds the lines that match, at most `limit` of them; undefined when it takes too long. A regular expression can't be
 * interrupted from outside but by the limit of a script that calls it.
 */
function createFinder(pattern: RegExp): (lines: readonly string[], limit: number) => readonly Hit[] | undefined {
  let [lines, limit]: [readonly string[], number] = [[], 0];
  let hits: Hit[] = [];
  function find(): void {
    for (let index = 0; index < lines.length && hits.length < limit; index++) {
      const match = pattern.exec(lines[index] ?? '');
      if (match !== null) hits.push({ index, column: match.index });
    }
  }
  const context = createContext({ find });
  const script = new Script('find()');
  return (newLines, newLimit) => {
    [lines, limit, hits] = [newLines, newLimit, []];
    try {
      script.runInContext(context, { timeout: FILE_LIMIT_MS });
      return hits;
    } catch (thrown) {
      // Made in the script's own realm, so it is no instance of our Error.
      const { code } = thrown as { readonly code?: unknown };
      if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
      throw thrown;
    }
  };
}

function compile(pattern: string, ignoreCase: boolean): RegExp {
  const [, inline = '', rest = pattern] = /^\(\?([ims]+)\)(.*)$/s.exec(pattern) ?? [];
  const flags = ignoreCase || inline.includes('i') ? 'i' : '';
  try {
    return new RegExp(rest, `${flags}u`);
  } catch {
    // Unicode mode refuses escapes that ripgrep takes, such as \- and \".
  }
  try {
    return new RegExp(rest, flags);
  } catch (cause) {
    throw badPattern(pattern, messageOf(cause));
  }
}

function withContext(lines: readonly string[], hits: readonly Hit[], around: number): readonly FoundLine[] {
  const columns = new Map(hits.map(({ index, column }) => [index, column]));
  const shown = new Set<number>();
  for (const { index } of hits) {
    for (let at = Math.max(0, index - around); at <= Math.min(lines.length - 1, index + around); at++) shown.add(at);
  }
  return [...shown].map((index) => {
    const column = columns.get(index);
    return { number: index + 1, text: clipLine(lines[index] ?? '', column ?? 0), isMatch: column !== undefined };
  });
}
