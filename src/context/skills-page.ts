/** Reads the page of a skill: front matter that says what it is for, and the body behind it. Never throws. */
export type Severity = 'low' | 'medium' | 'high';

/** Something wrong with a skill or its folder. A `high` one keeps the skill from being used. */
export type SkillDiagnostic = {
  readonly file: string;
  /** For programs, e.g. `name-mismatch`; see the table in skills-page.ts and the scan in skills.ts. */
  readonly type: string;
  readonly message: string;
  readonly severity: Severity;
};

export type SkillHead = { readonly name: string; readonly description: string };

export type ReadPage = { readonly head: SkillHead | undefined; readonly diagnostics: readonly SkillDiagnostic[] };

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const NAME_LIMIT_CHARS = 64;
const DESCRIPTION_LIMIT_CHARS = 1024;
const COMPATIBILITY_LIMIT_CHARS = 500;
const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/;
const FRONT_MATTER_BEGINS = /^\uFEFF?---[ \t]*(?:\r?\n|$)/;

type Fields = Readonly<Record<string, unknown>>;
type Problem = Omit<SkillDiagnostic, 'file'>;

/** What the page in `file` says, which lies in a folder named `folder`. `isCut`: `text` is only its beginning. */
export async function readSkillPage(
  text: string,
  { file, folder, isCut }: { readonly file: string; readonly folder: string; readonly isCut: boolean },
): Promise<ReadPage> {
  const fields = await fieldsOf(text, isCut);
  const problems = 'problem' in fields ? [fields.problem] : problemsOf(fields.fields, folder);
  const diagnostics = problems.map((problem) => ({ file, ...problem }));
  if ('problem' in fields || problems.some(({ severity }) => severity === 'high'))
    return { head: undefined, diagnostics };
  const { name, description } = fields.fields;
  return { head: { name: String(name), description: oneLine(String(description)) }, diagnostics };
}

/** The text behind the front matter. */
export function bodyOf(text: string): string {
  return text.replace(FRONT_MATTER, '').trim();
}

async function fieldsOf(text: string, isCut: boolean): Promise<{ fields: Fields } | { problem: Problem }> {
  const match = FRONT_MATTER.exec(text);
  if (match === null) return withoutEnd(text, isCut);
  try {
    // Most runs have no skills at all. By its default export: a bundle of CommonJS that is loaded late has no others.
    const { default: yaml } = await import('yaml');
    const fields: unknown = yaml.parse(match[1] ?? '', { schema: 'core', maxAliasCount: 0, logLevel: 'error' });
    if (isMap(fields)) return { fields };
    return problem('invalid-front-matter', 'Its front matter is no list of fields.');
  } catch (thrown) {
    const [reason = ''] = String(thrown instanceof Error ? thrown.message : thrown).split('\n');
    return problem('invalid-front-matter', `Its front matter is not valid YAML: ${reason}`);
  }
}

function withoutEnd(text: string, isCut: boolean): { problem: Problem } {
  if (!FRONT_MATTER_BEGINS.test(text)) {
    return problem('missing-front-matter', 'It does not begin with front matter between two lines "---".');
  }
  if (isCut) return problem('front-matter-too-long', 'Its front matter has no end in the first 64 KiB.');
  return problem('unclosed-front-matter', 'Its front matter has no end: the second line "---" is missing.');
}

const problem = (type: string, message: string): { problem: Problem } => ({
  problem: { type, message, severity: 'high' },
});

function problemsOf(fields: Fields, folder: string): readonly Problem[] {
  return [...nameProblems(fields.name, folder), ...descriptionProblems(fields.description), ...otherProblems(fields)];
}

function nameProblems(name: unknown, folder: string): readonly Problem[] {
  const high = (type: string, message: string): readonly Problem[] => [{ type, message, severity: 'high' }];
  if (name === undefined || name === null) return high('missing-name', 'It has no name.');
  if (typeof name !== 'string') return high('invalid-name-type', 'Its name is no text.');
  if (!NAME.test(name) || name.length > NAME_LIMIT_CHARS) {
    return high('invalid-name-format', 'Its name is not lower-case words joined by "-", of 64 characters at most.');
  }
  if (name === folder) return [];
  return high('name-mismatch', `Its name is "${name}", but its folder is called "${folder}".`);
}

function descriptionProblems(description: unknown): readonly Problem[] {
  const high = (type: string, message: string): readonly Problem[] => [{ type, message, severity: 'high' }];
  if (description === undefined || description === null) return high('missing-description', 'It has no description.');
  if (typeof description !== 'string') return high('invalid-description-type', 'Its description is no text.');
  if (description.trim() === '') return high('blank-description', 'Its description is blank.');
  if (description.length <= DESCRIPTION_LIMIT_CHARS) return [];
  return high('description-too-long', `Its description is longer than ${DESCRIPTION_LIMIT_CHARS} characters.`);
}

/** Fields that we do not use: a skill works without them. */
function otherProblems({ compatibility, metadata, 'allowed-tools': allowedTools }: Fields): readonly Problem[] {
  const problems: Problem[] = [];
  const low = (type: string, message: string) => problems.push({ type, message, severity: 'low' });
  if (typeof compatibility === 'string' && compatibility.length > COMPATIBILITY_LIMIT_CHARS) {
    low('compatibility-too-long', `Its compatibility is longer than ${COMPATIBILITY_LIMIT_CHARS} characters.`);
  }
  if (metadata !== undefined && metadata !== null && !isMap(metadata)) {
    low('invalid-metadata-type', 'Its metadata is no list of fields.');
  } else if (isMap(metadata) && Object.values(metadata).some((value) => typeof value !== 'string')) {
    low('invalid-metadata-entries', 'Its metadata has values that are no texts.');
  }
  const isList = Array.isArray(allowedTools) && allowedTools.every((tool) => typeof tool === 'string');
  if (allowedTools !== undefined && allowedTools !== null && typeof allowedTools !== 'string' && !isList) {
    low('invalid-allowed-tools-type', 'Its allowed-tools is neither a text nor a list of texts.');
  }
  return problems;
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
}
