/** A tool's display as rows for a person: diffs with line numbers and signs, plain lines, tables. */
import type { Display } from '../events/types.js';
import type { Colors } from './colors.js';

/** `paint` colours the text, after it was cut or made visible. */
export type Row = { readonly text: string; readonly paint: (text: string) => string };

export function displayRows(display: Display, colors: Colors): readonly Row[] {
  switch (display.kind) {
    case 'diff': {
      const paints = { '+': colors.green, '-': colors.red, ' ': colors.dim };
      const digits = String(display.lines.at(-1)?.line ?? 0).length;
      return display.lines.map(({ sign, line, text }) => ({
        text: `${String(line).padStart(digits)} ${sign} ${text}`,
        paint: paints[sign],
      }));
    }
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
