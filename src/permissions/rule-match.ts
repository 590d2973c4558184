/**
 * What a rule fits. Allow rules are read narrowly, all of a request has to fit and nothing may be left to guess; deny and
 * ask rules widely, any part of it is enough, however it is written.
 */
import { relative, resolve, sep } from 'node:path';
import { globFits } from './path-glob.js';
import { isInsideFolder, type Place, spellingsOf } from './place.js';
import { CHANGES_FILES, coversTool, isChanging, isReading, SHOWS_CONTENT } from './rule-names.js';
import { analyzeCommand } from './shell-analysis.js';
import { deniedBy, hasUnreadableProgram, mayBeDeniedBy } from './shell-match.js';
import { namedPaths, writtenPaths } from './shell-paths.js';
import type { Request, Rule, RuleSpec, Subject } from './types.js';

export type CommandSubject = Extract<Subject, { kind: 'command' }>;
type CommandSpec = Extract<RuleSpec, { kind: 'command' }>;
type PathSpec = Extract<RuleSpec, { kind: 'path' }>;

const FOLDS_CASE = process.platform === 'darwin' || process.platform === 'win32';

/**
 * Whether an allow rule covers a request as a whole. One with a command covers only the very same text, or the same
 * words, started in the workspace's root: `npm test` in another folder is another program.
 */
export function ruleAllows(rule: Rule, request: Request, place: Place): boolean {
  const { spec, tools } = rule;
  if (!coversTool(tools, request.tool)) return false;
  if (spec === undefined) return unreadShell(request) === undefined;
  const { subjects } = request;
  if (subjects.length === 0 || subjects.some(({ kind }) => kind === 'none')) return false;
  return subjects.every((subject) => {
    if (subject.kind === 'command') {
      return spec.kind === 'command' && isAtRoot(subject, place) && commandAllowed(spec, subject);
    }
    if (subject.kind === 'path') return spec.kind === 'path' && pathAllowed(spec, subject.path, place);
    return subject.kind === 'url' && spec.kind === 'host' && hostFits(spec, subject.url);
  });
}

/** Whether the words of a simple command are those of an allow rule. */
export function ruleAllowsWords(rule: Rule, tool: string, words: readonly (string | null)[]): boolean {
  const { spec, tools } = rule;
  return spec?.kind === 'command' && coversTool(tools, tool) && wordsFit(spec, words);
}

/** Whether a deny or an ask rule covers any part of a request. */
export function ruleRestricts(rule: Rule, request: Request, place: Place): boolean {
  const { spec } = rule;
  if (spec === undefined) return coversTool(rule.tools, request.tool);
  return request.subjects.some((subject) => {
    if (subject.kind === 'command') {
      if (spec.kind === 'command') return coversTool(rule.tools, request.tool) && commandRestricted(spec, subject);
      if (spec.kind !== 'path') return false;
      return (
        (isReading(rule.tools) && commandNames(spec, subject, place)) ||
        (isChanging(rule.tools) && writtenPaths(subject, place).some((path) => pathRestricted(spec, path, place)))
      );
    }
    if (subject.kind === 'path') {
      return spec.kind === 'path' && coversFiles(rule, request.tool) && pathRestricted(spec, subject.path, place);
    }
    return (
      subject.kind === 'url' &&
      spec.kind === 'host' &&
      coversTool(rule.tools, request.tool) &&
      hostFits(spec, subject.url)
    );
  });
}

/** Whether a deny or ask rule keeps what is in a file, or below a folder, from being read. */
export function ruleRestrictsReading({ spec, tools }: Rule, path: string, place: Place): boolean {
  return spec?.kind === 'path' && isReading(tools) && pathRestricted(spec, path, place);
}

/** Whether a rule names this very file and no pattern, for what only such a rule frees. */
export function namesVeryFile({ spec }: Rule): boolean {
  return spec?.kind === 'path' && !/[*?[\]]/.test(spec.text.split('/').at(-1) ?? '*');
}

/** Whether a rule names the very text of a command. */
export function namesVeryCommand({ spec }: Rule, { command }: CommandSubject): boolean {
  return spec?.kind === 'command' && !spec.isOpen && spec.text === command;
}

/** The shell of a request whose commands can't be read, by a name for people. */
export function unreadShell(request: Request): string | undefined {
  return commandsOf(request).find(({ shell }) => shell !== undefined)?.shell;
}

export function commandsOf({ subjects }: Request): readonly CommandSubject[] {
  return subjects.filter((subject) => subject.kind === 'command');
}

export function isAtRoot({ cwd }: CommandSubject, { roots: [root = sep] }: Place): boolean {
  return resolve(root, cwd) === resolve(root);
}

/**
 * A rule that keeps a file from being read also keeps those tools from it that tell what is in it; one that keeps it as it is,
 * all that change files.
 */
function coversFiles({ tools }: Rule, tool: string): boolean {
  return (
    coversTool(tools, tool) ||
    (isReading(tools) && SHOWS_CONTENT.includes(tool)) ||
    (isChanging(tools) && CHANGES_FILES.includes(tool))
  );
}

function commandAllowed(spec: CommandSpec, { command, shell }: CommandSubject): boolean {
  if (!spec.isOpen && spec.text === command) return true;
  if (shell !== undefined) return false;
  const { isLiteral, commands } = analyzeCommand(command);
  const [only] = commands;
  // What a wrapper runs has to be allowed as well, which `command-cover.ts` sees to.
  return isLiteral && commands.length === 1 && only !== undefined && wordsFit(spec, only.words);
}

function commandRestricted(spec: CommandSpec, { command }: CommandSubject): boolean {
  if (spec.text === command.trim()) return true;
  return spec.words !== undefined && deniedBy(wanted(spec, spec.words), analyzeCommand(command));
}

function wordsFit({ words: wanted, isOpen }: CommandSpec, words: readonly (string | null)[]): boolean {
  if (wanted === undefined || words.length < wanted.length || (!isOpen && words.length > wanted.length)) return false;
  return wanted.every((word, index) => word === words[index]);
}

/** Whether a command may be one that a rule restricts, since words that decide it can't be told. */
export function mayBeRestricted({ spec, tools }: Rule, tool: string, command: string): boolean {
  if (spec?.kind !== 'command' || !coversTool(tools, tool)) return false;
  const analysis = analyzeCommand(command);
  if (hasUnreadableProgram(analysis)) return true;
  return spec.words !== undefined && mayBeDeniedBy(wanted(spec, spec.words), analysis);
}

function wanted({ isOpen }: CommandSpec, words: readonly string[]): readonly string[] {
  return isOpen ? [...words, '*'] : words;
}

function pathAllowed({ glob }: PathSpec, path: string, place: Place): boolean {
  const absolute = resolve(place.roots[0] ?? sep, path);
  return spellingsOf(absolute, place).every((spelling) =>
    waysTo(glob.base, spelling, place).some((way) => globFits(glob, way, { ignoreCase: FOLDS_CASE })),
  );
}

/** In any case of letters: on a disk that tells them apart, a file too many is the smaller harm. */
function pathRestricted({ glob }: PathSpec, path: string, place: Place): boolean {
  const absolute = resolve(place.roots[0] ?? sep, path);
  return spellingsOf(absolute, place).some((spelling) => {
    const ways = waysTo(glob.base, spelling, place);
    // A name that counts at any depth counts outside the workspace too.
    const all =
      ways.length === 0 && glob.base === 'workspace' && glob.literal === undefined ? [spelling.slice(1)] : ways;
    return all.some((way) => globFits(glob, way.normalize('NFC'), { ignoreCase: true }));
  });
}

/** A path relative to each base that it lies below. */
function waysTo(base: 'workspace' | 'disk' | 'home', path: string, { roots, home }: Place): readonly string[] {
  const bases = { workspace: roots, disk: [sep], home: home === undefined ? [] : [home] }[base];
  return bases
    .filter((folder) => isInsideFolder(folder, path))
    .map((folder) => relative(folder, path).split(sep).join('/'));
}

function commandNames(spec: PathSpec, subject: CommandSubject, place: Place): boolean {
  return namedPaths(subject, place).some((path) => pathRestricted(spec, path, place));
}

function hostFits({ host, isBelow }: Extract<RuleSpec, { kind: 'host' }>, url: string): boolean {
  const asked = hostOf(url);
  return asked !== undefined && (isBelow ? asked.endsWith(`.${host}`) : asked === host);
}

/** The host of an address, in lower case and without a dot at its end. */
export function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname.toLowerCase().replace(/\.$/, '') : undefined;
}
