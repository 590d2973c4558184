#!/usr/bin/env -S node --
// Without the `--` Node 20 itself would take our --env-file, and obey a NODE_OPTIONS in it.
// A single --version is answered before anything else is loaded; all other arguments are commander's.
import { readFileSync } from 'node:fs';

const [flag, ...rest] = process.argv.slice(2);
if ((flag === '--version' || flag === '-V') && rest.length === 0) {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  process.stdout.write(`${version}\n`);
} else {
  await import('../dist/main.js');
}
