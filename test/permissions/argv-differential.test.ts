import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Language, type Node, Parser } from 'web-tree-sitter';
import { analyzeCommand } from '../../src/permissions/shell-analysis.js';

const SCRIPTS = 4_800;
const LITERAL_AT_LEAST = 2_000;
/** A new one each time; a failure shows the script. */
const seed = Math.floor(Math.random() * 2 ** 31);

const isName = (name: string) => /^\w+$/.test(name);
const PROGRAMS = ['p0', 'p1', 'p2', 'p3', 'if0', 'p-4', 'p_5.x'];

const program = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...PROGRAMS) },
  { weight: 2, arbitrary: fc.constantFrom(...PROGRAMS).map((name) => `'${name}'`) },
  { weight: 1, arbitrary: fc.constantFrom(...PROGRAMS).map((name) => `"${name}"`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('p""0', '\\p0', 'x', 'then', 'time', '!', 'A=b', "'A=b'", 'coproc', '{', 'in'),
  },
);
const inQuotes = fc.string({ unit: fc.constantFrom(...'ab*?$`!\\ ;|&<>(){}[]#~\n\t-="%'), maxLength: 5 });
const plain = fc.oneof(
  { weight: 5, arbitrary: fc.string({ unit: fc.constantFrom(...'abZ019_@%+=:,./-'), minLength: 1, maxLength: 5 }) },
  { weight: 3, arbitrary: inQuotes.map((text) => `'${text}'`) },
  {
    weight: 2,
    arbitrary: fc
      .string({ unit: fc.constantFrom(..."ab*?;|&<>(){}[]#~\n -='"), maxLength: 5 })
      .map((text) => `"${text}"`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('-n', '--', 'if', 'done', 'a=b', '-', '0', '2', '""', "''", 'a,b', '%1', '@x'),
  },
);
const odd = fc.oneof(
  inQuotes.map((text) => `"${text}"`),
  fc.constantFrom(
    '$x',
    '$(p1)',
    '`p2`',
    '*',
    '~',
    '{a,b}',
    '\\-d',
    "a'b'",
    `$'a'`,
    '#x',
    '>f',
    '2>f',
    '<(p1)',
    '!',
    '\\\np1',
    '[a]',
    "'a",
    '\t',
    '&',
    '|&',
    '(p1)',
    '<<E',
    'a~',
    '=~',
  ),
);
const word = fc.oneof({ weight: 20, arbitrary: plain }, { weight: 1, arbitrary: odd });
const blank = fc.constantFrom(' ', ' ', ' ', '  ', '');
const command = fc
  .tuple(program, fc.array(fc.tuple(fc.constantFrom(' ', '  '), word), { maxLength: 4 }))
  .map(([name, words]) => name + words.map(([gap, text]) => gap + text).join(''));
const operator = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('&&', '&&', '||', ';', ';', '|', '\n', '\n', '&&\n\n', ';\n', '\n\n') },
  { weight: 1, arbitrary: fc.constantFrom('|\n', '&', '|&', ';;', '; ;', '&&&', '|||', '\t', '&& ||', '#', '\\\n') },
);
const script = fc
  .tuple(
    blank,
    command,
    fc.array(fc.tuple(blank, operator, blank, command), { maxLength: 3 }),
    fc.constantFrom('', '', '', ' ', ';', '\n', ' ;\n', '&', ' #'),
  )
  .map(([before, first, more, after]) => before + first + more.map((parts) => parts.join('')).join('') + after);

type Literal = { readonly script: string; readonly argvs: readonly (readonly string[])[] };

const literal: readonly Literal[] = fc.sample(script, { numRuns: SCRIPTS, seed }).flatMap((script) => {
  const { isLiteral, commands } = analyzeCommand(script);
  if (!isLiteral) return [];
  const argvs = commands.map(({ words }) => words.filter((word) => word !== null));
  // Other programs than ours are there, or not, in a way that no shell can be made to tell of.
  return argvs.every(([name = '']) => PROGRAMS.includes(name)) ? [{ script, argvs }] : [];
});

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** What a shell runs of each script: when all succeeds, and when all fails, for what stands behind `||`. */
function argvsIn(shell: string, cwd: string, scripts: readonly Literal[]): readonly (readonly string[])[][] {
  const names = shell === 'bash' ? PROGRAMS : PROGRAMS.filter(isName);
  const runner = [
    'PATH=/nowhere',
    // One after the other, also in a pipeline: what is told at once would mix.
    'tell() { while read -r line; do :; done; printf "%s\\0" "$#" "$@" >&3; return $status; }',
    // What is none of ours, by any chance, is told as well.
    'command_not_found_handle() { tell "$@"; }',
    ...names.map((name) => `${shell === 'bash' ? `function ${name}` : `${name}()`} { tell ${name} "$@"; }`),
    ...scripts.flatMap(({ script }) => [
      'printf "script\\0" >&3',
      ...(script.includes('||') ? [0, 1] : [0]).map((status) => `status=${status}; eval ${quoted(script)}`),
    ]),
    ':',
  ];
  const file = join(cwd, 'runner');
  writeFileSync(file, runner.join('\n'));
  const found: (readonly string[])[][] = [];
  const made = spawnSync(shell, [...(shell === 'bash' ? ['--noprofile', '--norc'] : []), file], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    maxBuffer: 1e8,
  });
  expect([made.error, `${made.stdout}`, `${made.stderr}`, made.status]).toEqual([undefined, '', '', 0]);
  expect(readdirSync(cwd)).toEqual(['runner']);
  const fields = `${made.output[3]}`.split('\0').slice(0, -1);
  for (let at = 0; at < fields.length; at++) {
    if (fields[at] === 'script') found.push([]);
    else {
      const count = Number(fields[at]);
      found.at(-1)?.push(fields.slice(at + 1, at + 1 + count));
      at += count;
    }
  }
  return found;
}

const distinct = (argvs: readonly (readonly string[])[]) =>
  [...new Set(argvs.map((argv) => JSON.stringify(argv)))].sort();

describe('literal scripts', () => {
  let cwd: string;
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'argv-'));
  });
  afterAll(() => rmSync(cwd, { recursive: true, force: true }));

  it(`are ${LITERAL_AT_LEAST} and more of those that are made up, of one command and of several`, () => {
    expect(literal.length).toBeGreaterThanOrEqual(LITERAL_AT_LEAST);
    for (const operator of ['&&', '||', '|', ';', '\n']) {
      expect(literal.filter(({ script }) => script.includes(operator)).length).toBeGreaterThan(100);
    }
  });

  it.each(['bash', 'sh'])(
    'are run by %s with the very words that were read, and nothing else is',
    (shell) => {
      // dash takes no function of another name.
      const scripts =
        shell === 'bash' ? literal : literal.filter(({ argvs }) => argvs.every(([name = '']) => isName(name)));
      const found = argvsIn(shell, cwd, scripts);
      const differences = scripts.flatMap(({ script, argvs }, index) => {
        const [ours, theirs] = [distinct(argvs), distinct(found[index] ?? [])];
        return JSON.stringify(ours) === JSON.stringify(theirs) ? [] : [{ script, ours, theirs, seed }];
      });
      expect(differences).toEqual([]);
      expect(found).toHaveLength(scripts.length);
    },
    120_000,
  );

  it('are lists and pipelines of as many commands for tree-sitter-bash', async () => {
    const require = createRequire(import.meta.url);
    await Parser.init();
    const parser = new Parser();
    parser.setLanguage(await Language.load(require.resolve('tree-sitter-bash/tree-sitter-bash.wasm')));
    const differences = literal.flatMap(({ script, argvs }) => {
      // It takes such a word for an operator of `[[ ]]` anywhere; bash has told above what it is.
      if (argvs.flat().includes('==')) return [];
      const tree = parser.parse(script);
      const types = tree === null ? [] : typesOf(tree.rootNode);
      const isSame = types.filter((type) => type === 'command').length === argvs.length;
      const others = types.filter((type) => !EXPECTED.has(type));
      tree?.delete();
      return isSame && others.length === 0 ? [] : [{ script, others, seed }];
    });
    expect(differences).toEqual([]);
  });
});

const EXPECTED = new Set(
  'program list pipeline command command_name word number raw_string string string_content && || | ; \n "'.split(' '),
);

function typesOf(node: Node): string[] {
  return [node.type, ...node.children.flatMap((child) => (child === null ? [] : typesOf(child)))];
}
