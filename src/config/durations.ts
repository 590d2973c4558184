/** Durations as people write them, in the form Go knows: `10m`, `1h30m`, `500ms`; a bare number is seconds. */

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** 24 days: above about 24.8 days a Node timer overflows and fires at once. */
export const MAX_DURATION_MS = 24 * 24 * 3_600_000;

/** What `parseDuration` takes, for error texts. */
export const DURATION_FORM = 'a duration above zero and up to 576h, such as 10m, 30s, 1h30m, 500ms, or 90 for seconds';

const NUMBER = String.raw`\d+(?:\.\d+)?`;
const BARE_SECONDS = new RegExp(`^${NUMBER}$`);
const WHOLE = new RegExp(`^(?:${NUMBER}(?:ms|s|m|h))+$`);
const PART = new RegExp(`(${NUMBER})(ms|s|m|h)`, 'g');

/** Whole milliseconds, at least 1 and at most `MAX_DURATION_MS`; undefined where the text is no such duration. */
export function parseDuration(text: string): number | undefined {
  const durationMs = Math.round(readMs(text));
  return durationMs >= 1 && durationMs <= MAX_DURATION_MS ? durationMs : undefined;
}

function readMs(text: string): number {
  if (BARE_SECONDS.test(text)) return Number(text) * 1_000;
  if (!WHOLE.test(text)) return Number.NaN;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(PART)) totalMs += Number(amount) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
  return totalMs;
}

/** `234ms`, `1.2s`, `10m`, `1h30m`: tenths below a minute, whole seconds above. A negative duration shows as `0ms`. */
export function formatDuration(durationMs: number): string {
  const wholeMs = Math.max(0, Math.round(durationMs));
  if (wholeMs < 1_000) return `${wholeMs}ms`;
  const tenths = Math.round(wholeMs / 100);
  if (tenths < 600) return `${tenths / 10}s`;
  const seconds = Math.round(wholeMs / 1_000);
  const parts = [
    [Math.floor(seconds / 3_600), 'h'],
    [Math.floor((seconds % 3_600) / 60), 'm'],
    [seconds % 60, 's'],
  ] as const;
  return parts.map(([amount, unit]) => (amount === 0 ? '' : `${amount}${unit}`)).join('');
}
