/** The words of searching, shared by both ways of doing it. */
import { ToolFailure } from '../types.js';
import type { FolderReader } from '../walk.js';

export type Search = {
  readonly pattern: string;
  readonly ignoreCase: boolean;
  readonly contextLines: number;
  /** Matching lines. */
  readonly maxResults: number;
  /** Real path of a folder, or of one file. */
  readonly base: string;
  readonly isFile: boolean;
  /** Whether names with a dot in front are searched below the base. */
  readonly hidden: boolean;
  readonly reader: FolderReader;
  readonly signal: AbortSignal;
  /** A path as it is shown. */
  readonly show: (path: string) => string;
  /** Whether hits in this file (absolute) are wanted. */
  readonly wants: (path: string) => Promise<boolean>;
};

export type FoundLine = {
  /** From 1. */
  readonly number: number;
  /** Without its end; may be cut to a part that holds the match. */
  readonly text: string;
  readonly isMatch: boolean;
};

export type FileHits = { readonly path: string; readonly lines: readonly FoundLine[] };

export type Found = {
  /** In the order of the paths' bytes, folder by folder. */
  readonly files: readonly FileHits[];
  /** `max_results` was reached and the search stopped. */
  readonly isCut: boolean;
  /** Sentences on what was not searched. */
  readonly notes: readonly string[];
};

const MAX_LINE_CHARACTERS = 300; // Enough to judge a hit by; read_file shows the line.

/** A line as it is shown: a long one is cut to a part around the match, which starts at `column` (UTF-16 units). */
export function clipLine(text: string, column: number): string {
  if (text.length <= MAX_LINE_CHARACTERS) return text;
  const from = Math.max(0, Math.min(column - MAX_LINE_CHARACTERS / 3, text.length - MAX_LINE_CHARACTERS));
  const part = text.slice(from, from + MAX_LINE_CHARACTERS).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
  return `${from > 0 ? '…' : ''}${part}${from + MAX_LINE_CHARACTERS < text.length ? '…' : ''}`;
}

export function badPattern(pattern: string, reason: string): ToolFailure {
  return new ToolFailure(
    'bad-pattern',
    `${JSON.stringify(pattern)} cannot be searched for: ${reason}\nEscape what is meant literally, e.g. \\( \\{ \\[ \\. ; a pattern fits within one line.`,
  );
}
