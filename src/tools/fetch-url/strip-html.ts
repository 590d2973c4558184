/** HTML without what nobody reads, and as bare text. Both take time in proportion to its length, whatever is in it. */

const UNREAD = ['script', 'style', 'noscript', 'template', 'svg', 'iframe'] as const;
/** Without an end they reach to the end of the page, as in browsers; of the others only the tag is lost then. */
const REACHES_ON: readonly string[] = ['script', 'style', '--'];

/** Leaves out comments, scripts, styles, drawings and frames, so that a page's size is that of its words. */
export function withoutUnread(html: string): string {
  let names: readonly string[] = UNREAD;
  let start = startOf(names);
  let output = '';
  let at = 0;
  for (;;) {
    start.lastIndex = at;
    const found = start.exec(html);
    if (found === null) return output + html.slice(at);
    const name = found[1]?.toLowerCase() ?? '--';
    const inside = found.index + found[0].length;
    // `<!-->` is a whole one.
    const end = endOf(name, html, name === '--' ? inside - 2 : inside);
    output += html.slice(at, end === -1 && !REACHES_ON.includes(name) ? inside : found.index);
    if (end === -1 && REACHES_ON.includes(name)) return output;
    at = end === -1 ? inside : end;
    if (end !== -1) continue;
    // There is no end of any further one either, and nobody looks for it once more.
    names = names.filter((each) => each !== name);
    start = startOf(names);
  }
}

function startOf(names: readonly string[]): RegExp {
  return new RegExp(`<(?:!--|(${names.join('|')})(?=[\\s/>]))`, 'gi');
}

function endOf(name: string, html: string, from: number): number {
  const end = name === '--' ? /--!?>/g : new RegExp(`</${name}(?=[\\s/>])[^<>]*>?`, 'gi');
  end.lastIndex = from;
  return end.test(html) ? end.lastIndex : -1;
}

const BLOCK =
  /^<\/?(?:address|article|aside|blockquote|br|dd|div|dl|dt|fieldset|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|td|th|tr|ul)\b/i;

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

/** The words of a page, a line for each of its blocks. */
export function plainText(html: string): string {
  return decodeEntities(html.replace(/<[!/?a-z][^<>]*>/gi, (tag) => (BLOCK.test(tag) ? '\n' : '')))
    .split('\n')
    .map((line) => line.replace(/[ \t\f\r]+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');
}

export function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,5}));/gi, (whole, decimal, hex, name: string) => {
    if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? whole) : whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
