/**
 * A place to run chatcli in: a workspace, a home and the installed command, all its own. Its processes can be told from
 * all others.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll } from 'vitest';

export const BINARY = resolve('bin/chatcli.js');
if (!existsSync(resolve('dist/main.js'))) throw new Error('There is no dist/main.js: run `npm run build` first.');

/** A workspace with a home of its own, both empty at first. Removed when its test file has ended. */
export type Place = {
  /** The workspace: real path, the working folder of every run. */
  readonly root: string;
  /** HOME of every run, which also marks its processes. */
  readonly home: string;
  /** CHATCLI_HOME. */
  readonly settings: string;
  readonly env: Readonly<Record<string, string>>;
  write(path: string, content: string | Uint8Array): void;
  read(path: string): string;
  has(path: string): boolean;
};

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function makePlace(files: Readonly<Record<string, string | Uint8Array>> = {}): Place {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'chatcli-e2e-')));
  folders.push(folder);
  const [root, home, bin] = ['work', 'home', 'bin'].map((name) => join(folder, name)) as [string, string, string];
  const settings = join(home, 'chatcli');
  for (const path of [root, settings, bin]) mkdirSync(path, { recursive: true });
  // As npm installs it.
  symlinkSync(BINARY, join(bin, 'chatcli'));
  const place: Place = {
    root,
    home,
    settings,
    env: {
      PATH: [bin, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
      HOME: home,
      CHATCLI_HOME: settings,
      LANG: 'C.UTF-8',
      TERM: 'xterm-256color',
    },
    write: (path, content) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    },
    read: (path) => readFileSync(join(root, path), 'utf8'),
    has: (path) => existsSync(join(root, path)),
  };
  for (const [path, content] of Object.entries(files)) place.write(path, content);
  return place;
}

export type LivingProcess = { readonly pid: number; readonly command: string };

/** The living processes of a place's runs, told by their HOME. Only Linux shows them; elsewhere there are none. */
export function processesOf(place: Place): readonly LivingProcess[] {
  if (!existsSync('/proc/self/environ')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && readProc(name, 'environ').split('\0').includes(`HOME=${place.home}`))
    .map((name) => ({ pid: Number(name), command: readProc(name, 'cmdline').split('\0').join(' ').trim() }));
}

function readProc(pid: string, file: 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // It ended meanwhile, or is another user's.
  }
}
