/** The last lines on stderr: how it ended, what was spent, and what the harness itself saw. */
import type { Outcome } from '../kernel/types.js';
import type { Texts } from '../texts/en.js';
import type { Colors } from './colors.js';
import { shorten } from './format.js';

/** A run may touch hundreds of files; all of them stand in the JSON result. */
const ENTRIES = 8;
const ENTRY_WIDTH = 80;

export function closingLines(
  outcome: Outcome,
  spent: string,
  { colors, texts }: { readonly colors: Colors; readonly texts: Texts },
): readonly string[] {
  const { filesChanged, commandsSinceLastEdit } = outcome.proof;
  const paint = outcome.reason === 'answered' ? colors.green : colors.yellow;
  const facts = [texts.turns(outcome.turns), spent].join(' · ');
  const lines = [`${paint('●')} ${texts.reason[outcome.reason]}${colors.dim(` · ${facts}`)}`];
  if (filesChanged.length > 0)
    lines.push(
      colors.dim(
        `  ${texts.filesChanged}: ${few(
          filesChanged.map((path) => shorten(path, ENTRY_WIDTH)),
          texts,
        )}`,
      ),
    );
  if (filesChanged.length > 0 || commandsSinceLastEdit.length > 0) {
    const ran = commandsSinceLastEdit.map(
      ({ command, exitCode }) =>
        `${shorten(command, ENTRY_WIDTH)} (${exitCode === null ? '–' : texts.exitCode(exitCode)})`,
    );
    lines.push(
      colors.dim(`  ${texts.checks(filesChanged.length > 0)}: ${ran.length === 0 ? texts.noChecks : few(ran, texts)}`),
    );
  }
  return lines;
}

function few(entries: readonly string[], texts: Texts): string {
  const shown = entries.slice(0, ENTRIES).join(', ');
  return entries.length > ENTRIES ? `${shown}, ${texts.more(entries.length - ENTRIES)}` : shown;
}
