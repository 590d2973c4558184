/** Bundles src/ into few ESM chunks in dist/, writes the declarations of index.ts and THIRD-PARTY.md. Prints nothing. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { esbuildMarkdown } from './markdown-plugin.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

rmSync(join(root, 'dist'), { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts', 'src/index.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  minify: true,
  keepNames: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'error',
  external: Object.keys({ ...dependencies, ...optionalDependencies }),
  plugins: [esbuildMarkdown],
  define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' },
  // Some bundled CommonJS packages call require() at run time, which an ES module does not have.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
});
writeFileSync(join(root, 'dist', 'meta.json'), JSON.stringify(metafile));
execFileSync(
  process.execPath,
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'tsconfig.types.json')],
  { stdio: 'inherit' },
);
writeFileSync(join(root, 'THIRD-PARTY.md'), thirdParty(metafile));

/** The licences of every package that ended up in the bundle, as their terms ask for. */
function thirdParty({ inputs }) {
  const folders = new Set();
  for (const input of Object.keys(inputs)) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input.split(sep).join('/'));
    if (match) folders.add(match[1]);
  }
  const sections = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const text =
      file && existsSync(join(root, folder, file)) ? readFileSync(join(root, folder, file), 'utf8').trim() : '';
    return `## ${name} ${version} (${license})\n\n${text}\n`;
  });
  return `# Packages bundled into dist/\n\n${sections.join('\n')}`;
}
