/**
 * Which words of a command may name files, so that one that names a secret file is asked about whatever the command is.
 * Best effort: a program can find a file without being told its name.
 */

import { programName } from './program-name.js';
import { isSecretFile } from './secret-files.js';
import { analyzeCommand, type SimpleCommand } from './shell-analysis.js';
import { operandsOf } from './shell-table.js';

/** The words of any command, literal or not, that name secret files, as they are spelled. */
export function secretOperands(command: string): readonly string[] {
  return pathWords(command).filter(isSecretFile);
}

/** What may be the path of a file, each once: words, what they have attached (`--file=x`, `-fx`, `@x`), redirects. */
export function pathWords(command: string): readonly string[] {
  return [...new Set(analyzeCommand(command).commands.flatMap(wordsOf))];
}

// They print their words and open none.
const TALKERS = new Set(['echo', 'printf', ':', 'true', 'false']);
const INTERPRETERS = /^(?:node|deno|bun|python|ruby|perl|php|awk|gawk|mawk|sed|lua|osascript)[\d.]*$/;

function wordsOf({ words, spelled, redirects }: SimpleCommand): readonly string[] {
  const files = redirects.flatMap(({ spelled }) => withoutPattern(spelled));
  const [program] = words;
  const name = typeof program === 'string' ? programName(program) : '';
  if (TALKERS.has(name)) return files;
  const operands = operandsOf(words);
  if (operands !== undefined) return [...operands.map(({ path }) => path), ...files];
  const pieces = spelled
    .slice(1)
    .flatMap((word) => [...piecesOf(word), ...(INTERPRETERS.test(name) ? quoted(word) : [])]);
  return [...pieces.flatMap(withoutPattern), ...files];
}

/** A word, and what is attached in it: `.env` of `-f.env`, `--file=.env`, `@.env`, `HEAD:.env`, `a=@.env`. */
function piecesOf(word: string): readonly string[] {
  const parts = word.split(/[=@:,]/);
  const attached = /^-[A-Za-z](.+)$/s.exec(parts[0] ?? '')?.[1];
  return [word, ...parts, ...(attached === undefined ? [] : [attached])].filter((piece) => piece !== '');
}

/** File names in the text of a program. */
function quoted(word: string): readonly string[] {
  return [...word.matchAll(/(['"`])((?:(?!\1).)+)\1/gs)].map(([, , piece]) => piece ?? '');
}

// What patterns are tried on.
const SECRET_NAMES =
  '.env .env.local .env.production id_rsa id_ed25519 server.pem .netrc .npmrc .pypirc .git-credentials'.split(' ');
const SECRET_FOLDERS = '.ssh .aws .gnupg'.split(' ');

const MAX_PATTERN = 32; // longer than every name, and short enough to be tried in no time.

/** A word without a pattern as it is; for one with a pattern the secret files that it would fit, if it says so much. */
function withoutPattern(word: string): readonly string[] {
  if (!/[*?[{]/.test(word)) return [word];
  const segments = word.split('/');
  return segments.flatMap((segment, index) => {
    const saysLittle = !/^\.|[A-Za-z_.-]{2}/.test(segment);
    if (!/[*?[{]/.test(segment) || saysLittle || segment.length > MAX_PATTERN) return [];
    const names = index === segments.length - 1 ? SECRET_NAMES : SECRET_FOLDERS;
    const name = names.find((name) => fits(segment, name));
    return name === undefined ? [] : [[...segments.slice(0, index), name].join('/')];
  });
}

function fits(pattern: string, name: string): boolean {
  // The shell lets a pattern fit a leading dot only where it has one.
  if (name.startsWith('.') && !/^(?:\.|[[{])/.test(pattern)) return false;
  let source = '';
  let depth = 0;
  for (const [part] of pattern.matchAll(/\[[^\]]+\]|[\s\S]/g)) {
    if (part === '*') source += '.*';
    else if (part === '?') source += '.';
    else if (part.startsWith('[') && part.length > 1) source += '.';
    else if (part === '{') {
      depth++;
      source += '(?:';
    } else if (part === '}' && depth > 0) {
      depth--;
      source += ')';
    } else if (part === ',' && depth > 0) source += '|';
    else source += part.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');
  }
  return new RegExp(`^${source}${')'.repeat(depth)}$`, 'is').test(name);
}
