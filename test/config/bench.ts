/** A temp home and project, and loadConfig with an environment of its own: nothing of the machine's settings gets in. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Environment } from '../../src/config/environment.js';
import { type ConfigFlags, type LoadedConfig, type LoadRequest, loadConfig } from '../../src/config/load.js';
import type { ProviderPreset } from '../../src/config/provider-choice.js';
import { ConfigError } from '../../src/errors.js';

/** A few of every kind, in an order of their own. */
const TEST_PRESETS: readonly ProviderPreset[] = [
  {
    name: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    keyVariable: 'OPENAI_API_KEY',
    defaultModel: 'openai-default',
  },
  {
    name: 'groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariable: 'GROQ_API_KEY',
    defaultModel: 'groq-default',
  },
  { name: 'openrouter', baseUrl: 'https://openrouter.ai/api/v1', keyVariable: 'OPENROUTER_API_KEY' },
  { name: 'ollama', baseUrl: 'http://localhost:11434/v1' },
];

export type Bench = {
  readonly home: string;
  readonly cwd: string;
  /** The env file of the config folder. */
  readonly userEnvFile: string;
  /** Writes a file with its folders; gives back its absolute path. */
  readonly write: (file: string, content: string | Buffer) => Promise<string>;
  readonly load: (env?: Environment, flags?: ConfigFlags, more?: Partial<LoadRequest>) => Promise<LoadedConfig>;
  /** The error that `load` must end with. */
  readonly failure: (env?: Environment, flags?: ConfigFlags, more?: Partial<LoadRequest>) => Promise<ConfigError>;
  readonly remove: () => Promise<void>;
};

export async function makeBench(): Promise<Bench> {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'chatcli-config-')));
  const home = path.join(root, 'home');
  const cwd = path.join(root, 'project');
  await mkdir(home);
  await mkdir(cwd);
  const load: Bench['load'] = (env = {}, flags = {}, more = {}) =>
    loadConfig({ env, cwd, flags, homedir: home, platform: 'linux', presets: TEST_PRESETS, ...more });
  return {
    home,
    cwd,
    userEnvFile: path.join(home, '.config', 'chatcli', '.env'),
    load,
    write: async (file, content) => {
      const target = path.resolve(cwd, file);
      await mkdir(path.dirname(target), { recursive: true });
      await writeFile(target, content);
      return target;
    },
    failure: async (env, flags, more) => {
      const thrown = await load(env, flags, more).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (!(thrown instanceof ConfigError)) throw new Error(`expected a ConfigError, got ${String(thrown)}`);
      return thrown;
    },
    remove: () => rm(root, { recursive: true, force: true }),
  };
}
