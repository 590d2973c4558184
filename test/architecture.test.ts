import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = resolve('src');
const LINES_AT_MOST = 300;

const TOP = ['errors', 'exit-codes', 'prompt', 'process', 'http', 'texts'];

/** DESIGN section 3: room → what of ours it may import. `room/file` is one file of a room. */
const MAY_IMPORT: Readonly<Record<string, readonly string[] | 'everything'>> = {
  kernel: [],
  events: ['kernel'],
  ...Object.fromEntries(TOP.map((room) => [room, ['kernel/types', ...TOP]])),
  permissions: ['kernel/types', 'errors'],
  config: ['errors', 'permissions/types', 'providers/presets'],
  providers: ['kernel', 'errors', 'prompt', 'http'],
  tools: ['kernel', 'permissions', 'prompt', 'errors', 'events/types', 'process', 'http'],
  workers: ['kernel/types', 'prompt', 'errors'],
  runtime: ['kernel', 'events', 'providers/types', 'tools', 'permissions', 'context', 'workers', 'prompt', 'errors'],
  pipeline: ['kernel', 'events/types', 'runtime/types', 'workers/types', 'prompt', 'errors'],
  context: ['kernel', 'events', 'providers/types', 'prompt', 'errors'],
  session: ['kernel', 'events/types', 'errors'],
  output: ['kernel/types', 'events', 'errors', 'texts'],
  ui: ['kernel/types', 'events', 'errors', 'texts'],
  commands: 'everything',
  index: 'everything',
  main: 'everything',
};

/** Package → where it may be imported: a room, or a file's path from its start. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  openai: ['providers/openai-'],
  ink: ['ui/'],
  react: ['ui/'],
  commander: ['commands/program', 'commands/flags', 'commands/side-commands'],
  execa: ['process'],
  chalk: ['output/'],
  dotenv: ['config/env-files'],
  zod: [
    'config/',
    'tools/',
    'workers/load',
    'session/',
    'runtime/typed',
    // Only for the types of the public face.
    'runtime/agent',
    'events/schema',
    'pipeline/',
    'providers/scripted',
  ],
  ajv: ['runtime/typed'],
  jsonrepair: ['providers/text-repair'],
  yaml: ['context/skills'],
  'jsonc-parser': ['config/json-file'],
  pino: ['output/log'],
  'node:child_process': ['process'],
  'node:http': ['http'],
  'node:https': ['http'],
};

/** Parts of one room file that outgrew it (`process-group.ts` beside `process.ts`) belong to the same room. */
const roomOf = (path: string): string => {
  const [first = ''] = path.split('/');
  if (path.includes('/')) return first;
  const name = first.replace(/\.tsx?$/, '');
  return TOP.find((room) => name === room || name.startsWith(`${room}-`)) ?? name;
};

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((path) => path.split(sep).join('/'))
  .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'));

const read = (path: string) => readFileSync(join(SRC, path), 'utf8');

function importsOf(path: string): readonly string[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\b[^;'"]*?from\s*'([^']+)'|import\(\s*'([^']+)'\s*\)|(?:^|\n)\s*import\s*'([^']+)'/g;
  return [...read(path).matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

/** Path below src without ending, for a relative import. */
function target(from: string, specifier: string): string {
  return relative(SRC, resolve(SRC, dirname(from), specifier))
    .split(sep)
    .join('/')
    .replace(/\.js$/, '');
}

function isAllowed(from: string, specifier: string): boolean {
  const to = target(from, specifier);
  const room = roomOf(from);
  const allowed = MAY_IMPORT[room];
  if (allowed === undefined) return false;
  return (
    allowed === 'everything' || roomOf(to) === room || allowed.some((entry) => to === entry || roomOf(to) === entry)
  );
}

describe('the rooms of src', () => {
  it('have each an entry in the import table', () => {
    expect(files.map(roomOf).filter((room) => MAY_IMPORT[room] === undefined)).toEqual([]);
  });

  it('import only what the table allows', () => {
    const breaches = files.flatMap((file) =>
      importsOf(file)
        .filter((specifier) => specifier.startsWith('.') && !isAllowed(file, specifier))
        .map((specifier) => `${file} imports ${target(file, specifier)}`),
    );
    expect(breaches).toEqual([]);
  });

  it('keep packages in their homes', () => {
    const breaches = files.flatMap((file) =>
      importsOf(file).flatMap((specifier) => {
        const name = specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : specifier.split('/')[0];
        const homes = HOMES[specifier] ?? HOMES[name ?? ''];
        return homes === undefined || homes.some((home) => file.startsWith(home))
          ? []
          : [`${file} imports ${specifier}`];
      }),
    );
    expect(breaches).toEqual([]);
  });

  it('have no import cycle of values', () => {
    const graph = new Map(
      files.map((file) => [
        file.replace(/\.tsx?$/, ''),
        [...read(file).matchAll(/(?:^|\n)import\s+(?!type\b)[^;'"]*?from\s*'(\.[^']+)'/g)].map((match) =>
          target(file, match[1] ?? ''),
        ),
      ]),
    );
    const done = new Set<string>();
    const cycleFrom = (node: string, path: readonly string[]): readonly string[] | undefined => {
      if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
      if (done.has(node)) return undefined;
      for (const next of graph.get(node) ?? []) {
        const cycle = cycleFrom(next, [...path, node]);
        if (cycle !== undefined) return cycle;
      }
      done.add(node);
      return undefined;
    };
    expect([...graph.keys()].map((node) => cycleFrom(node, [])).filter((cycle) => cycle !== undefined)).toEqual([]);
  });
});

describe('every file', () => {
  it.each([
    ['reads process.env only in config', /process\.env\b/, (file: string) => file.startsWith('config/')],
    ['calls process.exit only in main', /process\.exit\(/, (file: string) => file === 'main.ts'],
    ['uses console only in output', /\bconsole\./, (file: string) => file.startsWith('output/')],
    ['has no default export', /\bexport default\b/, () => false],
    [
      'imports zod as a namespace, of which the build keeps what is used',
      /import \{[^}]*\} from 'zod'|\bz\.core\.[a-z]\w*\(/,
      () => false,
    ],
    ['has no enum', /^\s*(export )?(const )?enum\b/m, () => false],
    ['has no unfinished words', /TODO|FIXME|XXX/, () => false],
  ])('%s', (_, pattern, mayHave) => {
    const code = (file: string) => read(file).replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '');
    const checked = (file: string) => (pattern.source.includes('TODO') ? read(file) : code(file));
    expect(files.filter((file) => !mayHave(file) && pattern.test(checked(file)))).toEqual([]);
  });

  it(`has at most ${LINES_AT_MOST} lines`, () => {
    expect(files.filter((file) => read(file).split('\n').length > LINES_AT_MOST + 1)).toEqual([]);
  });

  it('begins with what it is for', () => {
    expect(files.filter((file) => !read(file).startsWith('/**'))).toEqual([]);
  });

  it('is not called utils, helpers, common, manager or service', () => {
    expect(files.filter((file) => /^(utils?|helpers?|common|manager|service)\b/.test(basename(file)))).toEqual([]);
  });
});
