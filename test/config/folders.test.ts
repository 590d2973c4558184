import path from 'node:path';
import envPaths from 'env-paths';
import { describe, expect, it } from 'vitest';
import { processEnvironment } from '../../src/config/environment.js';
import { foldersFor } from '../../src/config/folders.js';

const HOME = path.resolve('/home/ann');
const CWD = path.resolve('/work/project');
const foldersOn = (env: Record<string, string>, platform: NodeJS.Platform = 'linux') =>
  foldersFor({ env, cwd: CWD, homedir: HOME, platform });

describe('foldersFor', () => {
  it('follows the XDG defaults, without a suffix', () => {
    expect(foldersOn({})).toEqual({
      config: path.join(HOME, '.config/chatcli'),
      data: path.join(HOME, '.local/share/chatcli'),
      state: path.join(HOME, '.local/state/chatcli'),
      cache: path.join(HOME, '.cache/chatcli'),
    });
  });

  it('honours the XDG variables of the given environment, but no relative path', () => {
    const config = path.resolve('/x/config');
    const state = path.resolve('/x/state');
    const env = { XDG_CONFIG_HOME: config, XDG_STATE_HOME: state, XDG_DATA_HOME: 'relative', XDG_CACHE_HOME: '' };
    expect(foldersOn(env)).toEqual({
      config: path.join(config, 'chatcli'),
      data: path.join(HOME, '.local/share/chatcli'),
      state: path.join(state, 'chatcli'),
      cache: path.join(HOME, '.cache/chatcli'),
    });
  });

  it.each<NodeJS.Platform>(['linux', 'darwin', 'win32'])('lets CHATCLI_HOME override all on %s', (platform) => {
    const home = path.resolve('/x/own');
    const env = { CHATCLI_HOME: home, XDG_CONFIG_HOME: path.resolve('/x/config') };
    expect(foldersOn(env, platform)).toEqual({
      config: home,
      data: path.join(home, 'data'),
      state: path.join(home, 'state'),
      cache: path.join(home, 'cache'),
    });
  });

  it('takes a relative CHATCLI_HOME from the working folder, and an empty one as not set', () => {
    expect(foldersOn({ CHATCLI_HOME: 'own' }).config).toBe(path.join(CWD, 'own'));
    expect(foldersOn({ CHATCLI_HOME: ' ' }).config).toBe(path.join(HOME, '.config/chatcli'));
  });

  it.each(['/home/ann/.chatcli', '/home/ann/.chatcli/', '/home/ann/x/../.chatcli'])(
    "refuses %s, the other chatcli's folder",
    (home) => {
      expect(() => foldersOn({ CHATCLI_HOME: home })).toThrow(/CHATCLI_HOME must not be .*another program/);
    },
  );

  it('takes the home folder of the given environment', () => {
    const env = { HOME: path.resolve('/home/bob'), USERPROFILE: path.resolve('/home/bob') };
    expect(foldersFor({ env, cwd: CWD, platform: 'linux' }).config).toBe(path.resolve('/home/bob/.config/chatcli'));
  });

  it('agrees with env-paths on this machine', () => {
    const { config, data, cache } = envPaths('chatcli', { suffix: '' });
    const { CHATCLI_HOME: _, ...env } = processEnvironment();
    expect(foldersFor({ env, cwd: CWD })).toMatchObject({ config, data, cache });
  });
});
