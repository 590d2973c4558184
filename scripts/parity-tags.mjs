/** Compares the tags of the tests in test/parity with the rows, edge cases and traps of the ancestors' table. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COUNTS = { row: 60, edge: 15, trap: 16 };

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), 'test', 'parity');
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.test.ts'));
// At the end of a name: what a comment says of a tag is no test of it.
const AT_END_OF_NAME = /((?:\[(?:row|edge|trap) \d+\] ?)+)['"`]/g;
const tags = files.flatMap((path) =>
  [...readFileSync(join(folder, path), 'utf8').matchAll(AT_END_OF_NAME)].flatMap(([, all]) => all.match(/\[[^\]]+\]/g)),
);

const wanted = Object.entries(COUNTS).flatMap(([kind, count]) =>
  Array.from({ length: count }, (_, index) => `[${kind} ${index + 1}]`),
);
const missing = wanted.filter((tag) => !tags.includes(tag));
const unknown = [...new Set(tags)].filter((tag) => !wanted.includes(tag));

if (missing.length > 0) console.error(`No test has: ${missing.join(' ')}`);
if (unknown.length > 0) console.error(`Not in the table: ${unknown.join(' ')}`);
if (missing.length + unknown.length > 0) process.exitCode = 1;
else console.log(`All ${wanted.length} rows, edge cases and traps have a test.`);
