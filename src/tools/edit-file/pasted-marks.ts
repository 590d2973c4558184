/** Finds what models paste around text they copied. In a file it would be rubbish. */

const SEARCH_REPLACE = /^(<{5,} SEARCH|>{5,} REPLACE)\s*$/m;
/** `12│text` as read_file shows it, `   12→text`, `00012| text` and `    12<tab>text` as other tools do. */
const NUMBERED_LINE = /^(?: *(\d+)[│→|]| {3,}(\d+)\t)/;
const FENCED = /^```[^`\n]*\n[\s\S]*\n```\s*$/;
const HAS_FENCES_BY_NATURE = /\.(?:md|mdx|markdown|rst|adoc|txt|ipynb)$/i;

/** What `text` has pasted in, in words; undefined if nothing. What `known` has as well is just text. */
export function pastedMark(text: string, known: string, path: string): string | undefined {
  if (SEARCH_REPLACE.test(text) && !SEARCH_REPLACE.test(known)) return 'SEARCH/REPLACE marks';
  if (FENCED.test(text) && !known.includes('```') && !HAS_FENCES_BY_NATURE.test(path)) return 'a code fence';
  if (isNumbered(text) && !known.split('\n').some((line) => NUMBERED_LINE.test(line))) return 'line numbers';
  return undefined;
}

/** Whether each line starts with the number after the one before it. */
function isNumbered(text: string): boolean {
  const lines = text.replace(/\n$/, '').split('\n');
  const numbers = lines.map((line) => {
    const match = NUMBERED_LINE.exec(line);
    return match === null ? undefined : Number(match[1] ?? match[2]);
  });
  const first = numbers[0];
  return first !== undefined && numbers.every((number, index) => number === first + index);
}
