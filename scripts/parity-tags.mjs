/**
 * Compares the tags at the end of test names with the rows that the project promises to test: the ancestors' table
 * (`[row 7]`, `[edge 3]`, `[trap 2]` in test/parity), the adversarial cases of the security specification (`[A05]`) and
 * what users of such tools report (`[pain 12]`, `[H4]`).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const upTo = (count) => Array.from({ length: count }, (_, index) => index + 1);
const between = (first, last) => upTo(last - first + 1).map((number) => number + first - 1);

const PROMISES = [
  {
    what: 'rows, edge cases and traps of the ancestors',
    folder: 'parity',
    kinds: ['row', 'edge', 'trap'],
    tags: [
      ...upTo(60).map((number) => `row ${number}`),
      ...upTo(15).map((number) => `edge ${number}`),
      ...upTo(16).map((number) => `trap ${number}`),
    ],
  },
  {
    // A42 and A44 are about sessions, which are not there yet.
    what: 'adversarial cases',
    folder: '',
    kinds: ['A'],
    tags: [1, 3, 5, 6, 7, 10, 12, 13, 15, 16, 18, 19, 21, 22, 24, 25, 26, 27, 28, 30, 32, 33, 34, 36, 38, 39, 41]
      .concat(45, 46, 47, 48, 49, 50)
      .map((number) => `A${String(number).padStart(2, '0')}`),
  },
  {
    what: 'reports of users',
    folder: '',
    kinds: ['pain', 'H'],
    tags: [
      ...[...between(1, 8), ...between(10, 14), ...between(18, 20), 22, 23, ...between(43, 57), 78].map(
        (number) => `pain ${number}`,
      ),
      ...[1, 2, 3, 4, 9].map((number) => `H${number}`),
    ],
  },
];

// At the end of a name: what a comment says of a tag is no test of it.
const AT_END_OF_NAME = /((?:\[(?:(?:row|edge|trap|pain) \d+|A\d\d|H\d+)\] ?)+)['"`]/g;
const root = join(dirname(dirname(fileURLToPath(import.meta.url))), 'test');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.test.ts'));

for (const { what, folder, kinds, tags: wanted } of PROMISES) {
  const tags = files
    .filter((path) => path.startsWith(folder))
    .flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(AT_END_OF_NAME)].flatMap(([, all]) =>
        (all.match(/[^\][]+(?=\])/g) ?? []).filter((tag) => kinds.includes(tag.replace(/ ?\d+$/, ''))),
      ),
    );
  const missing = wanted.filter((tag) => !tags.includes(tag));
  const unknown = [...new Set(tags)].filter((tag) => !wanted.includes(tag));
  if (missing.length > 0) console.error(`${what}: no test has ${missing.map((tag) => `[${tag}]`).join(' ')}`);
  if (unknown.length > 0) console.error(`${what}: not in the table: ${unknown.map((tag) => `[${tag}]`).join(' ')}`);
  if (missing.length + unknown.length > 0) process.exitCode = 1;
  else console.log(`All ${wanted.length} ${what} have a test.`);
}
