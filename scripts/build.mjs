/** Bundles src/ into few ESM chunks in dist/, writes the declarations of index.ts and THIRD-PARTY.md. Prints nothing. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { esbuildMarkdown } from './markdown-plugin.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { peerDependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

rmSync(join(root, 'dist'), { recursive: true, force: true });
/** Of zod's translations only English is used; all of them are 270 kB to parse at every start. */
const englishZod = {
  name: 'english-zod',
  setup({ onResolve }) {
    onResolve({ filter: /locales\/index\.js$/ }, ({ importer, resolveDir }) =>
      importer.includes('node_modules/zod') ? { path: join(resolveDir, '../locales/en.js') } : undefined,
    );
  },
};

/** output/colors.ts tells chalk whether there are colours; its own look at environment and terminals takes 4 ms. */
const unaskingChalk = {
  name: 'unasking-chalk',
  setup({ onResolve }) {
    onResolve({ filter: /^#supports-color$/ }, ({ resolveDir }) => ({
      path: join(resolveDir, 'vendor/supports-color/browser.js'),
    }));
  },
};

const common = {
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Names stay as they are, for stack traces. Shorter ones with `keepNames` start 10 ms later: it calls a function for each.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'error',
  plugins: [esbuildMarkdown, englishZod, unaskingChalk],
  // The entry that its package.json names for Node loads its parts in a way that no bundler can follow.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' },
  // Some bundled CommonJS packages call require() at run time, which an ES module does not have.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
};
const binaries = Object.keys(optionalDependencies);
const [program, library] = await Promise.all([
  // Loading zod from its many files costs the program 100 ms more than from the bundle.
  build({ ...common, entryPoints: ['src/main.ts'], outdir: 'dist', external: binaries }),
  // A library user's schemas must be of the very zod that the declarations name.
  build({
    ...common,
    entryPoints: ['src/index.ts'],
    outdir: 'dist/library',
    // Node prints the line of an error that nobody caught: on one line with everything that is tens of kB.
    minifyWhitespace: false,
    minifySyntax: false,
    external: [...Object.keys(peerDependencies), ...binaries],
  }),
]);
execFileSync(
  process.execPath,
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'tsconfig.types.json')],
  { stdio: 'inherit' },
);
writeFileSync(join(root, 'THIRD-PARTY.md'), thirdParty({ ...program.metafile.inputs, ...library.metafile.inputs }));

/** The licences of every package that ended up in the bundle, as their terms ask for. */
function thirdParty(inputs) {
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
