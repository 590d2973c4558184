/** Turns `.md` files into string modules, and `<folder>/pages:md` into the list of a folder's pages, front matter read. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';

const PAGES = /\/pages:md$/;
const FRONT_MATTER = /^---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/;

/** Reading YAML here spares the program a parser of 120 kB at every start. */
function pageOf(folder, file) {
  const match = FRONT_MATTER.exec(readFileSync(resolve(folder, file), 'utf8'));
  if (match === null) throw new Error(`${file}: a page starts with front matter between two lines "---".`);
  const [, head, text] = match;
  return { file, head: parse(head, { schema: 'core', maxAliasCount: 0 }), text: text.trim() };
}

function listModule(folder) {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .sort();
  const pages = files.map((file) => pageOf(folder, file));
  return { code: `export default ${JSON.stringify(pages)};`, files: files.map((file) => resolve(folder, file)) };
}

const textModule = (file) => `export default ${JSON.stringify(readFileSync(file, 'utf8').trimEnd())};`;

export const esbuildMarkdown = {
  name: 'markdown',
  setup(build) {
    build.onResolve({ filter: PAGES }, (args) => ({
      path: resolve(args.resolveDir, dirname(args.path)),
      namespace: 'pages',
    }));
    build.onLoad({ filter: /.*/, namespace: 'pages' }, (args) => {
      const { code, files } = listModule(args.path);
      return { contents: code, loader: 'js', watchFiles: files };
    });
    build.onLoad({ filter: /\.md$/ }, (args) => ({ contents: textModule(args.path), loader: 'js' }));
  },
};

export const viteMarkdown = {
  name: 'markdown',
  enforce: 'pre',
  resolveId(id, importer) {
    if (PAGES.test(id) && importer) return `\0pages:${resolve(dirname(importer), dirname(id))}`;
    return undefined;
  },
  load(id) {
    if (id.startsWith('\0pages:')) return listModule(id.slice('\0pages:'.length)).code;
    if (id.endsWith('.md')) return textModule(id);
    return undefined;
  },
};
