import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { calls, says } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { chatcli, type PlayOptions, serve } from './support.js';

/**
 * A text that a package's core cannot do without, so that it stands in whichever chunk the package ended up in. It
 * survives the build, because it is data and not a name.
 */
const MARKS = {
  openai: '(no status code or body)',
  zod: 'invalid_union',
  execa: 'The `cancelSignal` option must be defined',
  pino: 'thread-stream',
  react: 'react.transitional.element',
  ink: 'ink-virtual-text',
} as const;

type PackageName = keyof typeof MARKS;

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'chatcli-loads-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// Node's own record of what is loaded: a hook that sees every ES module, and at the end what CommonJS loaded beside.
const hooks = join(folder, 'hooks.mjs');
writeFileSync(
  hooks,
  `import { appendFileSync } from 'node:fs';
   let file;
   export const initialize = (data) => { file = data; };
   export const load = (url, context, next) => { appendFileSync(file, url + '\\n'); return next(url, context); };`,
);
const record = (file: string) => {
  const setUp = `import { appendFileSync } from 'node:fs'; import { createRequire, register } from 'node:module';
    register(${JSON.stringify(pathToFileURL(hooks).href)}, { data: ${JSON.stringify(file)} });
    const { cache } = createRequire(${JSON.stringify(hooks)});
    process.on('exit', () => { for (const path of Object.keys(cache)) appendFileSync(${JSON.stringify(file)}, 'file://' + path + '\\n'); });`;
  return ['--import', `data:text/javascript,${encodeURIComponent(setUp)}`];
};

let count = 0;

/** Runs `chatcli …` and gives the files that it loaded, without what belongs to node and to this test. */
async function filesLoadedBy(args: readonly string[], options: PlayOptions = {}): Promise<readonly string[]> {
  const list = join(folder, `loaded-${count++}`);
  writeFileSync(list, '');
  await chatcli(args, { ...options, nodeFlags: record(list) });
  const urls = readFileSync(list, 'utf8')
    .split('\n')
    .filter((url) => url.startsWith('file:'));
  return [...new Set(urls.map((url) => fileURLToPath(url)))].filter((path) => !path.startsWith(folder));
}

const packagesIn = (files: readonly string[]): readonly string[] => {
  const texts = files.map((file) => readFileSync(file, 'utf8'));
  return Object.entries(MARKS).flatMap(([name, mark]) => (texts.some((text) => text.includes(mark)) ? [name] : []));
};

const ours = (files: readonly string[]) => files.map((file) => file.replace(`${resolve('.')}/`, ''));

const chunks = readdirSync('dist')
  .filter((name) => name.endsWith('.js'))
  .map((name) => resolve('dist', name));

describe('the marks by which packages are known', () => {
  // React and Ink come with the REPL; until then their marks are known from their sources alone.
  it.each<PackageName>(['openai', 'zod', 'execa', 'pino'])('stand in the build: %s', (name) => {
    expect(packagesIn(chunks)).toContain(name);
  });
});

describe('what is loaded', () => {
  const endpoint = async (args: readonly string[]) => {
    const server = await serve([calls('shell', { command: 'ls' }), says('ok')]);
    return filesLoadedBy(args, { server });
  };

  it('by --version is the launcher alone', async () => {
    expect(ours(await filesLoadedBy(['--version']))).toEqual(['bin/chatcli.js']);
  });

  it.each([
    ['--help', ['--help']],
    ['agent --help', ['agent', '--help']],
    ['--version among other flags', ['--plain', '--version']],
    ['a wrong flag', ['agent', '--nope']],
  ])('by %s is none of the large packages', async (_, args) => {
    const files = await filesLoadedBy(args);

    expect(ours(files)).toContain('dist/main.js');
    expect(packagesIn(files)).toEqual([]);
  });

  it.each<[string, () => Promise<readonly string[]>, readonly PackageName[]]>([
    ['a run on an endpoint', () => endpoint(['coder', 'x']), ['react', 'ink', 'pino']],
    ['a question', () => endpoint(['-p', 'x']), ['react', 'ink', 'pino']],
    [
      'a run whose configuration is wrong',
      () => filesLoadedBy(['agent', 'x', '--timeout', 'soon']),
      ['react', 'ink', 'pino', 'openai', 'execa'],
    ],
    [
      'a run of a script',
      () => {
        const env = { CHATCLI_PROVIDER: 'scripted', CHATCLI_SCRIPT: 's' };
        return filesLoadedBy(['agent', 'x'], { place: makePlace({ s: '[{"text":"ok"}]' }), env });
      },
      ['react', 'ink', 'pino', 'openai', 'execa'],
    ],
  ])('by %s is neither React nor Ink, nor another package that it has no use for', async (_, load, useless) => {
    const packages = packagesIn(await load());

    expect(packages).toContain('zod');
    expect(packages.filter((name) => useless.includes(name as PackageName))).toEqual([]);
  });

  it('comes from dist alone: a global install has no node_modules beside it', async () => {
    const files = ours(await endpoint(['coder', 'x'])).filter((file) => !/^(bin|dist)\/[^/]+\.js$/.test(file));

    expect(files.filter((file) => !file.includes('@vscode/ripgrep'))).toEqual([]);
  });
});
