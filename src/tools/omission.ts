/** Finds lines that stand for text a model left out ("... rest of the code ..."): writing them would delete that text. */

const ELLIPSIS = /\.{3,}|…/;
const ALL_ELLIPSES = /\.{3,}|…/g;
/** A comment sign, a parenthesis or dots: what an omission mark begins with, and what may close it. */
const OPENING = /^(?:\/\/+|#+|--+|;+|%+|\{?\/\*+|<!--|[([]|"""|'''|\.{3}|…)\s*/;
const CLOSING = /\s*(?:\*+\/\}?|-->|[)\]]|"""|''')$/;

const NOUNS =
  'code|methods?|functions?|class(?:es)?|lines?|imports?|contents?|implementations?|logic|fields?|properties|tests?|cases?|file|body|parts?|sections?|definitions?|declarations?|config(?:uration)?|rules?|routes?|elements?|items?|entries|components?|variables?|constants?|text|columns?|rows?|statements?|handlers?|options|settings|styles?';
const MARK = new RegExp(
  `^(?:${[
    String.raw`(?:the )?(?:rest|remainder) of(?: [\w'-]+){1,5}`,
    `(?:the |all )?(?:(?:existing|remaining|unchanged|previous|original|other|same|omitted) ){1,2}(?:${NOUNS})(?: (?:${NOUNS}))?`,
    '(?:code )?(?:unchanged|omitted)(?: code)?',
    'same as (?:before|above)',
    '(?:the )?(?:code|rest|file|contents?)(?= (?:is|are|remains?|stays?|unchanged|omitted|continues))',
    'no changes?(?: here)?',
  ].join(
    '|',
  )})(?: (?:(?:is |are |remains? |stays? )?(?:here|unchanged|omitted|continues|above|below|as before)|(?:is|are|remains?|stays?) (?:the same|as is)|goes here))?$`,
  'i',
);
/** Dots on both sides say enough for any noun to do. */
const DOTTED_MARK = /^(?:[\w'-]+ ){0,2}(?:rest|existing|remaining|unchanged|other|omitted)(?: [\w'-]+){0,3}$/i;
/** These need no dots. */
const STAYS = new RegExp(
  [
    '^(?:the )?(?:(?:rest|remainder) of .+|remaining \\w+) (?:(?:is|are|remains?|stays?) )?(?:the same|unchanged|as is|omitted)$',
    '^(?:the )?code (?:remains?|stays?) (?:the same|unchanged)$',
    '^existing code(?: here| continues)?$',
  ].join('|'),
  'i',
);
const MAX_MARK_CHARACTERS = 200;

/** The first line of `text` that is nothing but an omission mark, and does not stand in `known`; undefined if none. */
export function omissionLine(text: string, known: string): string | undefined {
  const knownLines = new Set(known.split('\n').map((line) => line.trim()));
  return text
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line.length <= MAX_MARK_CHARACTERS && isOmission(line) && !knownLines.has(line));
}

function isOmission(line: string): boolean {
  if (!OPENING.test(line)) return false;
  const inner = line.replace(OPENING, '').replace(CLOSING, '');
  const phrase = inner
    .replace(ALL_ELLIPSES, ' ')
    .replace(/[\s.:,()[\]]+/g, ' ')
    .trim();
  const isDotted = /^(?:\.{3}|…)/.test(inner) && /(?:\.{3}|…)$/.test(inner);
  return (MARK.test(phrase) && (ELLIPSIS.test(line) || STAYS.test(phrase))) || (isDotted && DOTTED_MARK.test(phrase));
}
