/** Makes visible what is not: a person approves what they read. */

/**
 * Control and direction characters, halves of a pair, and what is drawn as nothing: fillers, joiners, selectors of a
 * variant (but for the one behind a pictograph), tags. Newlines and tabs are none.
 */
const UNSEEN =
  /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u2800]|(?![\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}|(?<!\p{Extended_Pictographic})[\ufe0e\ufe0f]/gu;
/** Blanks that are not the blank of the keyboard: a shell takes them for a part of a word. */
const OTHER_BLANK = /(?! )\p{Zs}/gu;

/** Unseen characters and other blanks as `\u{…}`; newlines and tabs stay. */
export function madeVisible(text: string): string {
  return text.replace(UNSEEN, byNumber).replace(OTHER_BLANK, byNumber);
}

/** Whether a text holds characters that are not shown as they are. */
export function hasInvisible(text: string): boolean {
  return text.search(UNSEEN) !== -1;
}

function byNumber(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
