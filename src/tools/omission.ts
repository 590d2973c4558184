/** Finds lines that stand for text a model left out ("... rest of the code ..."): writing them would delete that text. */

const ELLIPSIS = /\.{3,}|…/;
const NOUN =
  '(?:code|methods?|functions?|class(?:es)?|lines?|imports?|contents?|implementations?|logic|fields?|properties|tests?|cases?|file|body|parts?|sections?|definitions?|declarations?|config(?:uration)?|rules?|routes?|elements?|items?|entries|components?|variables?|constants?|text|stuff)';
const PHRASE = [
  String.raw`(?:the )?(?:rest|remainder) of(?: [\w.'-]+){1,5}`,
  `(?:the |all )?(?:(?:existing|remaining|unchanged|previous|original|other|same|omitted) ){1,2}${NOUN}(?: ${NOUN})?`,
  '(?:code )?(?:unchanged|omitted)(?: code)?',
  'same as (?:before|above)',
].join('|');
const ENDING =
  '(?: (?:is |are )?(?:here|unchanged|omitted|continues|(?:remains?|stays?) (?:the same|unchanged|as is)|goes here|as before|above|below))?';
const MARK = new RegExp(`^(?:${PHRASE})${ENDING}$`, 'i');
const STAYS = /\b(?:remains?|stays?) (?:the same|unchanged|as is)$|\bexisting code(?: here| continues)?$/i;
/** What an omission mark begins with: a comment sign, a parenthesis or its dots; and what may close it. */
const WRAPPING =
  /^(?:\/\/+|#+|--+|;+|%+|\/\*+|<!--|\{\/\*|\*|\(|\[|"""|''')\s*(.*?)\s*(?:\*+\/\}?|-->|\)|\]|"""|''')?$/;

/** The first line of `text` that is nothing but an omission mark, and does not stand in `known`; undefined if none. */
export function omissionLine(text: string, known: string): string | undefined {
  const knownLines = new Set(known.split('\n').map((line) => line.trim()));
  return text
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line.length < 200 && isOmission(line) && !knownLines.has(line));
}

function isOmission(line: string): boolean {
  const inner = WRAPPING.exec(line)?.[1];
  if (inner === undefined) return false;
  // "(...)" within a comment is as common as a bare comment.
  const words = inner.replace(/^[([]\s*|\s*[)\]]$/g, '');
  const phrase = words
    .replace(new RegExp(ELLIPSIS, 'g'), ' ')
    .replace(/[\s.:,]+/g, ' ')
    .trim();
  return (ELLIPSIS.test(line) && MARK.test(phrase)) || (STAYS.test(phrase) && MARK.test(phrase));
}
