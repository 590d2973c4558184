/** Runs the built binary at a pseudo-terminal, and shows what a person would see there. */
import { spawn } from '@lydell/node-pty';
import { Terminal as Screen } from '@xterm/headless';
import { afterAll } from 'vitest';
import { BINARY, makePlace, type Place, processesOf } from './place.js';
import { environmentOf, type RunOptions } from './support.js';

export type TerminalOptions = Omit<RunOptions, 'stdin' | 'nodeFlags'> & {
  readonly columns?: number;
  /** A line of sh in place of the arguments, in which `chatcli` is on the PATH; for redirects. */
  readonly line?: string;
};

export type TerminalEnd = {
  readonly exitCode: number;
  /** Zero when no signal ended it. */
  readonly signal: number;
  readonly ms: number;
  readonly screen: string;
  readonly place: Place;
};

export type TerminalRun = {
  readonly place: Place;
  /** What stands on the screen and above it, without blanks at line ends. */
  readonly screen: () => string;
  /** All bytes that came, control sequences too. */
  readonly raw: () => string;
  readonly type: (keys: string) => void;
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly ended: Promise<TerminalEnd>;
};

export const KEYS = { enter: '\r', ctrlC: '\u0003', ctrlD: '\u0004' } as const;

const LIMIT_MS = 20_000;
const cleanUps: (() => void)[] = [];

afterAll(() => {
  for (const cleanUp of cleanUps) cleanUp();
});

/** Starts `chatcli …` with stdin, stdout and stderr at a terminal of 24 rows. */
export function atTerminal(args: readonly string[], options: TerminalOptions = {}): TerminalRun {
  const { place = makePlace(), columns = 100, line, limitMs = LIMIT_MS } = options;
  const startedAt = performance.now();
  const [file, argv] = line === undefined ? [process.execPath, [BINARY, ...args]] : ['/bin/sh', ['-c', line]];
  const env = environmentOf(place, options);
  const pty = spawn(file, [...argv], { name: env.TERM ?? '', cols: columns, rows: 24, cwd: place.root, env });
  const screen = new Screen({ cols: columns, rows: 24, scrollback: 5_000, allowProposedApi: true });
  let raw = '';
  pty.onData((data) => {
    raw += data;
    screen.write(data);
  });

  const destroy = () => {
    for (const { pid } of processesOf(place)) process.kill(pid, 'SIGKILL');
    screen.dispose();
  };
  cleanUps.push(destroy);
  const ended = new Promise<TerminalEnd>((resolve, reject) => {
    const timer = setTimeout(() => {
      const shown = textOf(screen);
      destroy();
      reject(new Error(`It took longer than ${limitMs} ms.\n--- screen\n${shown}`));
    }, limitMs);
    pty.onExit(({ exitCode, signal = 0 }) => {
      clearTimeout(timer);
      const ms = performance.now() - startedAt;
      // The screen takes in what was written in a turn of its own.
      screen.write('', () => resolve({ exitCode, signal, ms, screen: textOf(screen), place }));
    });
  });
  ended.catch(() => undefined);
  return {
    place,
    screen: () => textOf(screen),
    raw: () => raw,
    type: (keys) => pty.write(keys),
    kill: (signal) => pty.kill(signal),
    ended,
  };
}

function textOf({ buffer: { active } }: Screen): string {
  const lines = Array.from(
    { length: active.length },
    (_, index) => active.getLine(index)?.translateToString(true) ?? '',
  );
  return lines.join('\n').trimEnd();
}
