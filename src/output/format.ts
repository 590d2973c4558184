/** Small texts for people: durations, cut lines. */

/** `234ms`, `1.2s`, `3m 05s`. */
export function formatMs(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, '0')}s`;
}

/** One line of at most `width` characters; a cut is marked. */
export function shorten(text: string, width: number): string {
  const line = text.replace(/\s*\n\s*/g, ' ⏎ ').trimEnd();
  const characters = [...line];
  return characters.length <= width ? line : `${characters.slice(0, Math.max(1, width - 1)).join('')}…`;
}
