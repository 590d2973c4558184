/** A tool's display as rows for a person: diffs with line numbers and signs, plain lines, tables. */
import type { DiffLine, Display, FileDiff } from '../events/types.js';
import type { Colors } from './colors.js';

/** `paint` colours the text, after it was cut or made visible. */
export type Row = { readonly text: string; readonly paint: (text: string) => string };

export function displayRows(display: Display, colors: Colors): readonly Row[] {
  switch (display.kind) {
    case 'diff':
      return diffRows(display.lines, colors);
    case 'diffs':
      return display.files.flatMap((file) => [
        { text: headOf(file), paint: colors.bold },
        ...diffRows(file.lines, colors),
        // All of what a person agrees to is there; of what was done there may be more than is shown.
        ...(file.omitted ? [{ text: `… ${file.omitted}`, paint: colors.dim }] : []),
      ]);
    case 'lines':
      return display.lines.map((text) => ({ text, paint: colors.dim }));
    case 'table': {
      const rows = [display.head, ...display.rows];
      const widths = display.head.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
      return rows.map((cells) => ({
        text: cells
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
        paint: colors.dim,
      }));
    }
    default:
      return display satisfies never;
  }
}

function diffRows(lines: readonly DiffLine[], colors: Colors): readonly Row[] {
  const paints = { '+': colors.green, '-': colors.red, ' ': colors.dim };
  const digits = String(lines.at(-1)?.line ?? 0).length;
  return lines.map(({ sign, line, text }) => ({
    text: `${String(line).padStart(digits)} ${sign} ${text}`,
    paint: paints[sign],
  }));
}

function headOf({ path, action, from, added, removed }: FileDiff): string {
  return `${action} ${from === undefined ? path : `${from} → ${path}`} +${added} -${removed}`;
}
