/** Fills the {{holes}} of a text page. */

const HOLE = /\{\{\s*([A-Za-z][A-Za-z0-9]*)\s*\}\}/g;

/**
 * Replaces each `{{name}}` by its value, literally.
 * @throws {Error} when a hole has no value or a value has no hole: a page and its code must agree.
 */
export function fillPrompt(text: string, values: Readonly<Record<string, string>>): string {
  const used = new Set<string>();
  const filled = text.replace(HOLE, (_hole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) throw new Error(`The prompt has a hole {{${name}}} that nothing fills.`);
    used.add(name);
    return value;
  });
  const unused = Object.keys(values).filter((name) => !used.has(name));
  if (unused.length > 0) throw new Error(`The prompt has no hole for: ${unused.join(', ')}.`);
  return filled;
}

/** The names of a text's holes. */
export function holesOf(text: string): readonly string[] {
  return [...text.matchAll(HOLE)].map((match) => match[1] ?? '');
}
