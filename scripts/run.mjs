#!/usr/bin/env node
/** Runs a TypeScript script of this project: `node scripts/run.mjs FILE.ts [arguments]`. Node 20 cannot do so by itself. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { esbuildMarkdown } from './markdown-plugin.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const script = process.argv[2];
if (script === undefined) {
  console.error('usage: node scripts/run.mjs FILE.ts [arguments]');
  process.exit(2);
}

// Inside node_modules, so that the bundle finds the packages it imports.
const cache = join(root, 'node_modules', '.cache');
await mkdir(cache, { recursive: true });
const folder = await mkdtemp(join(cache, 'run-'));
try {
  const outfile = join(folder, 'script.mjs');
  await build({
    entryPoints: [resolve(script)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    target: 'node20',
    format: 'esm',
    sourcemap: 'inline',
    logLevel: 'warning',
    plugins: [esbuildMarkdown],
  });
  process.argv.splice(1, 2, script);
  await import(pathToFileURL(outfile).href);
} finally {
  await rm(folder, { recursive: true, force: true });
}
