/** The bench's figures as lines of text. */

export type Figure = {
  readonly name: string;
  readonly unit: string;
  /** Absent where the bar is the value itself. */
  readonly floor?: number;
  readonly ours: number;
  /** The same ratio in CPU time. */
  readonly cpuRatio?: number;
  /** The highest ratio, or value where there is no floor, that passes. */
  readonly bar?: number;
  /** What is aimed at. */
  readonly goal?: number;
};

/** What is held against bar and goal. */
export function scoreOf({ floor, ours }: Figure): number {
  return floor === undefined ? ours : ours / floor;
}

export function isOver(figure: Figure): boolean {
  // Not "greater": a ratio that is not a number passes nothing.
  return figure.bar !== undefined && !(scoreOf(figure) <= figure.bar);
}

export function tableOf(figures: readonly Figure[]): string {
  const head = ['figure', 'floor', 'ours', 'ratio', 'in CPU', 'bar', '', 'goal', ''];
  const rows = [head, ...figures.map(cellsOf)];
  const widths = head.map((_title, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    )
    .map((line) => line.trimEnd())
    .join('\n');
}

function cellsOf(figure: Figure): readonly string[] {
  const { name, unit, floor, ours, cpuRatio, bar, goal } = figure;
  const amount = (value: number) => `${value < 100 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
  const limit = (value: number) => (floor === undefined ? amount(value) : value.toFixed(2));
  const score = scoreOf(figure);
  return [
    name,
    floor === undefined ? '' : amount(floor),
    amount(ours),
    floor === undefined ? '' : score.toFixed(2),
    cpuRatio?.toFixed(2) ?? '',
    bar === undefined ? '' : limit(bar),
    bar === undefined ? '' : isOver(figure) ? 'OVER' : 'ok',
    goal === undefined ? '' : limit(goal),
    goal === undefined ? '' : score <= goal ? 'ok' : 'not yet',
  ];
}
