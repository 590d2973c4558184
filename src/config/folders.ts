/** Where chatcli keeps its files. Only names them: whoever writes makes the folder. */
import { homedir as systemHomedir } from 'node:os';
import path from 'node:path';
import envPaths from 'env-paths';
import { ConfigError } from '../errors.js';
import type { Environment } from './environment.js';

/** Absolute paths. `state` holds sessions, logs and trust; `cache` may be deleted at any time. */
export type Folders = {
  readonly config: string;
  readonly data: string;
  readonly state: string;
  readonly cache: string;
};

const NAME = 'chatcli';

/**
 * The folders for this environment. `CHATCLI_HOME` comes before all else, relative to `cwd` where it is relative.
 * On macOS and Windows the native paths come from the process itself, whatever `homedir` says.
 * @throws {ConfigError} when `CHATCLI_HOME` is `~/.chatcli`, the folder of another program of the same name.
 */
export function foldersFor(where: {
  env: Environment;
  cwd: string;
  homedir?: string | undefined;
  platform?: NodeJS.Platform | undefined;
}): Folders {
  const platform = where.platform ?? process.platform;
  const homedir = where.homedir ?? homeOf(where.env, platform);
  const home = where.env.CHATCLI_HOME?.trim();
  if (home) return ownHome(path.resolve(where.cwd, home), homedir);
  if (platform === 'darwin' || platform === 'win32') return nativeFolders();
  return xdgFolders(where.env, homedir);
}

/** The user's home, as their programs know it. */
export function homeOf(env: Environment, platform: NodeJS.Platform = process.platform): string {
  const named = platform === 'win32' ? env.USERPROFILE : env.HOME;
  return named && path.isAbsolute(named) ? named : systemHomedir();
}

function ownHome(home: string, homedir: string): Folders {
  if (home === path.join(homedir, '.chatcli')) {
    throw new ConfigError(`CHATCLI_HOME must not be ${home}: that folder belongs to another program named chatcli.`, {
      hint: 'Choose another folder, or unset CHATCLI_HOME.',
    });
  }
  return {
    config: home,
    data: path.join(home, 'data'),
    state: path.join(home, 'state'),
    cache: path.join(home, 'cache'),
  };
}

function nativeFolders(): Folders {
  const { config, data, cache } = envPaths(NAME, { suffix: '' });
  // env-paths has no state folder, and its log folder is one that people and cleaners empty.
  return { config, data, state: path.join(data, 'state'), cache };
}

/** Own code, because env-paths reads process.env and the home folder at import and takes no environment. */
function xdgFolders(env: Environment, homedir: string): Folders {
  const folder = (variable: string, ...fallback: readonly string[]) => {
    const base = env[variable];
    // The XDG specification says that a relative path is to be ignored.
    return path.join(base && path.isAbsolute(base) ? base : path.join(homedir, ...fallback), NAME);
  };
  return {
    config: folder('XDG_CONFIG_HOME', '.config'),
    data: folder('XDG_DATA_HOME', '.local', 'share'),
    state: folder('XDG_STATE_HOME', '.local', 'state'),
    cache: folder('XDG_CACHE_HOME', '.cache'),
  };
}
