/** Colours for a stream: the sixteen of the terminal's own theme, or none. */
import { Chalk, type ChalkInstance } from 'chalk';

export type Colors = ChalkInstance;

export function createColors(on: boolean): Colors {
  return new Chalk({ level: on ? 1 : 0 });
}
