/** What people are shown of a tool's work. */

/** What a person is shown of a tool's work; the model reads `output` instead. */
export type Display =
  | { readonly kind: 'lines'; readonly lines: readonly string[]; readonly omitted?: number }
  | {
      readonly kind: 'diff';
      readonly path: string;
      /** How many lines the change adds and removes, also where `lines` holds only the start of it. */
      readonly added: number;
      readonly removed: number;
      readonly lines: readonly DiffLine[];
      readonly omitted?: number;
    }
  /** What one call does to several files, or beside a change of the content. */
  | { readonly kind: 'diffs'; readonly files: readonly FileDiff[] }
  | { readonly kind: 'table'; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

/** One file of several; `from`: where it was moved or copied from. Without lines where its content is not text. */
export type FileDiff = {
  readonly path: string;
  readonly action: 'added' | 'replaced' | 'changed' | 'moved' | 'copied' | 'deleted';
  readonly from?: string;
  readonly added: number;
  readonly removed: number;
  readonly lines: readonly DiffLine[];
  readonly omitted?: number;
};

/** One line of a diff; `line` is its number in the new file, or in the old one for a removed line. */
export type DiffLine = {
  readonly sign: ' ' | '+' | '-';
  readonly line: number;
  readonly text: string;
};
