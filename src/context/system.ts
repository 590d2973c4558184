/** Puts together what a worker reads before its task: its page, where it is, and the project's instruction files. */
import { fillPrompt, holesOf } from '../prompt.js';
import type { Instructions } from './instructions.js';
import introduction from './instructions.md';

export type Environment = {
  readonly root: string;
  readonly platform: string;
  /** ISO day; no time of day, so that a prompt stays the same for the provider's cache. */
  readonly date: string;
};

export type SystemPromptParts = {
  readonly prompt: string;
  /** Values for holes that a page may have, e.g. `workers`. */
  readonly values: Readonly<Record<string, string>>;
  readonly environment: Environment;
  readonly instructions: Instructions;
};

/** The system prompt of one worker; equal parts give equal text. */
export function systemPrompt({ prompt, values, environment, instructions }: SystemPromptParts): string {
  const wanted = holesOf(prompt);
  const used = Object.fromEntries(Object.entries(values).filter(([name]) => wanted.includes(name)));
  const { root, platform, date } = environment;
  return [
    fillPrompt(prompt, used),
    `Workspace: ${root} (${platform}). Date: ${date}.`,
    ...instructionBlock(instructions),
  ].join('\n\n');
}

function instructionBlock({ files }: Instructions): readonly string[] {
  if (files.length === 0) return [];
  return [
    introduction,
    ...files.map(({ path, text }) => `<instructions file="${asName(path)}">\n${asText(text)}\n</instructions>`),
  ];
}

/** A file must not be able to end its block, or to begin one in another's name. */
function asText(text: string): string {
  return text.trim().replace(/<(?=[\s\\/]*instructions)/gi, '&lt;');
}

/** Folders of a project may be called anything. */
function asName(path: string): string {
  return path.replace(/["<>\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
