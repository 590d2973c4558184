/** Turns `.md` files into string modules, and `<folder>/pages:md` into the list of a folder's pages. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const PAGES = /\/pages:md$/;

function listModule(folder) {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .sort();
  const pages = files.map((file) => ({ file, text: readFileSync(resolve(folder, file), 'utf8') }));
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
