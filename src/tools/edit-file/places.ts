/** The words of matching: what is looked for, and where it was found. */

/** Offsets into the text that was searched; `end` is behind the last character. */
export type Place = { readonly start: number; readonly end: number };

/** From strict to loose. `trailing-blanks` and later layers need a single place, whatever `all` says. */
export type Layer = 'exact' | 'trailing-blanks' | 'indentation' | 'look-alikes';

export type Match =
  | {
      readonly kind: 'found';
      readonly layer: Layer;
      /** From left to right, without overlap. */
      readonly places: readonly Place[];
      /** The new text, with the file's own indentation where `indentation` matched. */
      readonly replacement: string;
    }
  /** More than one place; `places` may be cut at `MAX_COUNTED`. */
  | { readonly kind: 'ambiguous'; readonly layer: Layer; readonly places: readonly Place[] }
  | { readonly kind: 'none' };

/** `all` replaces every hit, from left to right, instead of refusing several. */
export type Edit = { readonly old: string; readonly new: string; readonly all: boolean };

export type Wanted = Edit & {
  /** False where one character of the text is one byte of an unknown encoding: nothing can look alike then. */
  readonly hasCharacters: boolean;
};

/** How many hits of an ambiguous text are looked for: enough to tell what is wrong. */
export const MAX_COUNTED = 100;
export const NONE: Match = { kind: 'none' };

/** Each hit of `part`, looked for again `step` characters behind the start of the one before. */
export function hitsOf(text: string, part: string, step: number, limit: number): readonly Place[] {
  const places: Place[] = [];
  for (let at = text.indexOf(part); at !== -1 && places.length < limit; at = text.indexOf(part, at + step)) {
    places.push({ start: at, end: at + part.length });
  }
  return places;
}
