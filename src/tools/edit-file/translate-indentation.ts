/** How indentation as a model wrote it becomes the file's: shifted by a prefix, or tabs for blanks and back. */

export type IndentPair = { readonly from: string; readonly to: string };
/** Undefined for an indentation that the pairs say nothing about. */
export type Translate = (indent: string) => string | undefined;

const UNITS = [4, 2, 8, 3] as const; // Blanks that stand for one tab; the usual ones first.

/** The one translation that fits all pairs; undefined where none does. `others` are indentations still to come. */
export function translationOf(pairs: readonly IndentPair[], others: readonly string[]): Translate | undefined {
  if (pairs.every(({ from, to }) => from === to)) return undefined;
  return addedPrefix(pairs, others) ?? removedPrefix(pairs) ?? blanksToTabs(pairs) ?? tabsToBlanks(pairs);
}

function addedPrefix(pairs: readonly IndentPair[], others: readonly string[]): Translate | undefined {
  const prefix = prefixOf(pairs[0]?.to, pairs[0]?.from);
  if (prefix === undefined || !pairs.every(({ from, to }) => to === prefix + from)) return undefined;
  if (!isTabs(prefix)) return (indent) => (isBlanks(prefix) && indent.includes('\t') ? undefined : prefix + indent);
  if (pairs.some(({ from }) => from.includes(' '))) return (indent) => prefix + indent;
  // The file has tabs and the old lines show no indentation of their own: deeper new lines in blanks become tabs too.
  const unit = Math.min(...others.filter((indent) => indent !== '' && isBlanks(indent)).map((indent) => indent.length));
  return (indent) => {
    if (isTabs(indent)) return prefix + indent;
    return isBlanks(indent) && indent.length % unit === 0 ? prefix + '\t'.repeat(indent.length / unit) : undefined;
  };
}

function removedPrefix(pairs: readonly IndentPair[]): Translate | undefined {
  const prefix = prefixOf(pairs[0]?.from, pairs[0]?.to);
  if (prefix === undefined || !pairs.every(({ from, to }) => from === prefix + to)) return undefined;
  return (indent) => (indent.startsWith(prefix) ? indent.slice(prefix.length) : undefined);
}

function blanksToTabs(pairs: readonly IndentPair[]): Translate | undefined {
  if (!pairs.every(({ from, to }) => isBlanks(from) && isTabs(to))) return undefined;
  const scale = scaleOf(pairs.map(({ from, to }) => ({ blanks: from.length, tabs: to.length })));
  if (scale === undefined) return undefined;
  return (indent) => {
    const tabs = indent.length / scale.unit + scale.extraTabs;
    return isBlanks(indent) && Number.isInteger(tabs) && tabs >= 0 ? '\t'.repeat(tabs) : undefined;
  };
}

function tabsToBlanks(pairs: readonly IndentPair[]): Translate | undefined {
  if (!pairs.every(({ from, to }) => isTabs(from) && isBlanks(to))) return undefined;
  const scale = scaleOf(pairs.map(({ from, to }) => ({ blanks: to.length, tabs: from.length })));
  if (scale === undefined) return undefined;
  return (indent) => {
    const blanks = (indent.length - scale.extraTabs) * scale.unit;
    return isTabs(indent) && blanks >= 0 ? ' '.repeat(blanks) : undefined;
  };
}

type Scale = { readonly unit: number; readonly extraTabs: number };

/** Blanks for a tab, and by how many tabs the tab side is deeper throughout; undefined where that stays open. */
function scaleOf(depths: readonly { readonly blanks: number; readonly tabs: number }[]): Scale | undefined {
  const fitting = UNITS.flatMap((unit): readonly Scale[] => {
    const extras = new Set(depths.map(({ blanks, tabs }) => tabs - blanks / unit));
    const [extraTabs] = extras;
    return extras.size === 1 && extraTabs !== undefined && Number.isInteger(extraTabs) ? [{ unit, extraTabs }] : [];
  });
  return fitting.find(({ extraTabs }) => extraTabs === 0) ?? (fitting.length === 1 ? fitting[0] : undefined);
}

/** What stands in front of `part` at the end of `whole`, if that is all there is and not nothing. */
function prefixOf(whole = '', part = ''): string | undefined {
  return whole.length > part.length && whole.endsWith(part) ? whole.slice(0, whole.length - part.length) : undefined;
}

function isTabs(indent: string): boolean {
  return /^\t*$/.test(indent);
}

function isBlanks(indent: string): boolean {
  return /^ *$/.test(indent);
}
