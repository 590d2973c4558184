#!/usr/bin/env -S node --
// Without the `--` Node 20 itself would take our --env-file, and obey a NODE_OPTIONS in it.
// A single --version is answered before anything else is loaded; all other arguments are commander's. CommonJS, by the
// package.json beside it, since starting Node's loader of ES modules would be a fifth of what --version takes.
const [flag, ...rest] = process.argv.slice(2);
if ((flag === '--version' || flag === '-V') && rest.length === 0) {
  const { readFileSync } = require('node:fs');
  const { version } = JSON.parse(readFileSync(`${__dirname}/../package.json`, 'utf8'));
  process.stdout.write(`${version}\n`);
} else {
  // main.js ends the process itself. An event loop that runs dry before is no success; 13 is Node's own code for it.
  process.exitCode = 13;
  // From Node 22.1 on: what was compiled once is kept in the temp folder. Node 20 compiles 0.5 MB at each start, for 30 ms.
  require('node:module').enableCompileCache?.();
  import('../dist/main.js');
}
