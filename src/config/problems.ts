/** Says what is wrong with the settings, all of it in one error, and never shows a key. */
import { ConfigError } from '../errors.js';

/** Where a value came from. */
export type Origin = 'flag' | 'environment' | 'default' | `file:${string}`;

/** Something to tell the person in one line; it stops nothing. */
export type ConfigNotice = {
  readonly code: 'dotenv-not-read' | 'env-file-unreadable' | 'settings-without-effect' | 'tls-check-stays';
  readonly text: string;
};

/** A complaint about one variable, as a sentence; `hint` says what to do. */
export type Problem = { readonly variable: string; readonly text: string; readonly hint?: string };

/** A value that cannot be used, with all that an error text needs. */
export type BadValue = {
  readonly variable: string;
  readonly value: string;
  readonly origin: Origin;
  /** The flag as typed, where the origin is one. */
  readonly flag?: string | undefined;
  readonly isSecret: boolean;
  /** Completes "allowed is …". */
  readonly allowed: string;
};

const SHOWN_CHARACTERS = 80; // Enough to recognise a value, short enough for one line.

/** The complaint about a value: variable, value, source, and what is allowed. */
export function badValue(bad: BadValue): Problem {
  const shown = bad.isSecret ? `(not shown, ${bad.value.length} characters)` : quoted(bad.value);
  const text = `${bad.variable}=${shown} from ${sourceText(bad)} is not valid: allowed is ${bad.allowed}.`;
  return { variable: bad.variable, text };
}

/** One error for all problems. `secrets` are blanked wherever they appear, say in the wrong variable. */
export function configError(problems: readonly Problem[], secrets: readonly string[]): ConfigError {
  const texts = problems.map((problem) => problem.text);
  const message =
    texts.length === 1
      ? (texts[0] ?? '')
      : [`${texts.length} settings cannot be used:`, ...texts.map((text) => `  - ${text}`)].join('\n');
  const hints = new Set(problems.flatMap((problem) => problem.hint ?? []));
  return new ConfigError(withoutSecrets(message, secrets), hints.size === 0 ? {} : { hint: [...hints].join(' ') });
}

function sourceText({ origin, flag }: BadValue): string {
  if (origin === 'flag') return `the flag ${flag ?? ''}`;
  return origin.startsWith('file:') ? `the file ${origin.slice('file:'.length)}` : `the ${origin}`;
}

function quoted(value: string): string {
  const characters = [...value];
  const shown = characters.slice(0, SHOWN_CHARACTERS).join('') + (characters.length > SHOWN_CHARACTERS ? '…' : '');
  // A URL may carry a password before its host; other control and format characters could play with the terminal.
  const safe = shown
    .replace(/\/\/[^/]*@/g, '//***@')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
  return `"${safe}"`;
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  // A secret of a few characters would blank parts of ordinary words.
  return secrets
    .filter((secret) => secret.length >= 8)
    .toSorted((one, other) => other.length - one.length)
    .reduce((masked, secret) => masked.replaceAll(secret, '***'), text);
}
