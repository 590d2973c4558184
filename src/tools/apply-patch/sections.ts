/** What a patch says, whichever way it was written: one section a file, in the order in which they count. */

export type HunkLine = {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
  /** The file ends in it without a newline. */
  readonly isOpen?: boolean;
};

export type Hunk = {
  /** As the patch has it, for messages. */
  readonly header: string;
  /** Lines to be found in this order in front of the place. */
  readonly anchors: readonly string[];
  readonly lines: readonly HunkLine[];
  /** Its last old line is the last of the file. */
  readonly atEnd: boolean;
  /** Index of the line at which it should fit, from 0; it may be elsewhere by now. */
  readonly position?: number;
};

export type Section =
  | {
      readonly kind: 'add';
      readonly path: string;
      readonly content: string;
      /** Whether a file that is there is replaced. */
      readonly mayReplace: boolean;
      readonly executable?: boolean;
    }
  /** `hunks`, where given, must take away all that the file has. */
  | { readonly kind: 'delete'; readonly path: string; readonly hunks?: readonly Hunk[] }
  | {
      readonly kind: 'update';
      readonly path: string;
      readonly hunks: readonly Hunk[];
      readonly moveTo?: string;
      /** Whether a file that is there is replaced by what is moved; it is by default. */
      readonly mayReplace?: boolean;
      /** The change goes to `moveTo`, and the file at `path` stays as it is. */
      readonly isCopy?: boolean;
      readonly executable?: boolean;
    };

/** All paths that a patch reads or changes. */
export function pathsOf(sections: readonly Section[]): readonly string[] {
  const all = sections.flatMap((section) =>
    section.kind === 'update' && section.moveTo !== undefined ? [section.path, section.moveTo] : [section.path],
  );
  return [...new Set(all)];
}
