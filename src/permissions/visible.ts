/** Makes visible what is not: a person approves what they read. */

/** Control, direction and other unseen characters as `\u{…}`; newlines and tabs stay. */
export function madeVisible(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
