/**
 * Commands that no mode runs without a question: what they do cannot be taken back. It looks at the words of every command
 * in the line; where those can't be told, at its text. It decides when to ask, and is no boundary: whoever wants to
 * hide a command from it can.
 */
import { carriedDanger, runsUnknownText } from './always-ask-carried.js';
import { gitDanger, gitDestroys } from './always-ask-git.js';
import { dangerInText, dangerOfText } from './always-ask-text.js';
import { windowsAskReason } from './always-ask-windows.js';
import { programDanger, programDestroys } from './always-ask-words.js';
import { analyzeCommand, type SimpleCommand } from './shell-analysis.js';
import { hasUnreadableProgram } from './shell-match.js';
import { hasInvisible } from './visible.js';

const MAX_CHARACTERS = 10_000; // longer ones nobody reads, and the scan would take its time.

/**
 * Why a command needs a question in every mode, as the end of a sentence, or undefined when it does not. `isUnread`: it
 * is for a shell that is not a POSIX one, and may not tell cases apart.
 */
export function alwaysAskReason(command: string, isUnread = false): string | undefined {
  if (command.length > MAX_CHARACTERS) return 'it is too long to be looked through';
  if (hasInvisible(command)) return 'it holds characters that cannot be seen';
  // Quotes and backslashes only hide a name (`\rm`, `"rm"`); a continued line is one line.
  const plain = command.replace(/\\\r?\n/g, '').replace(/["'\\]/g, '');
  if (isUnread) return dangerOfText(plain) ?? dangerOfText(plain.toLowerCase()) ?? windowsAskReason(plain);
  const analysis = analyzeCommand(command);
  const { commands, opaque } = analysis;
  for (const one of commands) {
    const reason = dangerOf(one);
    if (reason !== undefined) return reason;
  }
  const runsUnknown = hasUnreadableProgram(analysis) || commands.some(({ words }) => runsUnknownText(words));
  if (runsUnknown && commands.some(isDownload)) return 'it runs what it downloads';
  const isUncertain = opaque !== undefined || commands.some(({ words }) => words.includes(null));
  return isUncertain ? dangerOfText(plain) : dangerInText(plain);
}

/** Whether a command may overwrite or remove work that is nowhere else, so that a copy of it is worth the time. */
export function destroysWork(command: string): boolean {
  const analysis = analyzeCommand(command);
  const { commands, opaque } = analysis;
  if (opaque !== undefined || hasUnreadableProgram(analysis)) return true;
  return commands.some(({ words, spelled }) => programDestroys(words, spelled) || gitDestroys(words));
}

function dangerOf({ words, spelled, redirects }: SimpleCommand): string | undefined {
  return programDanger(words, spelled, redirects) ?? gitDanger(words) ?? carriedDanger(words);
}

function isDownload({ words }: SimpleCommand): boolean {
  return /(?:^|\/)(?:curl|wget)(?:\.exe)?$/i.test(words[0] ?? '');
}
