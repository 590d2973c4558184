/** The programs that are compared, and how a script is played to one of them. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Place, type Program, peakRss, type Timing, timing } from './measure.js';
import type { ModelServer, Script } from './model-server.js';

/** Ours, and the floor over `fetch` and over `node:http`. */
export type Contestant = 'ours' | 'fetch' | 'http';

export type Contest = {
  /** What is taken as the floor. */
  readonly floorPath: string;
  readonly time: (contestant: Contestant, script: Script) => Promise<Timing>;
  /** When each request of a run came, in milliseconds. */
  readonly requestTimes: (contestant: Contestant, script: Script) => Promise<readonly number[]>;
  /** Peak RSS in MiB; undefined where the system does not tell it. */
  readonly peakRss: (contestant: Contestant, script: Script) => Promise<number | undefined>;
  /** Times `node ARGS` without a model. */
  readonly timeNode: (...args: readonly string[]) => Promise<Timing>;
  readonly chatcliPath: string;
};

/**
 * Plays a first script to ours, whose request the floor takes as its own.
 * @throws {Error} when the program is not built, or fails.
 */
export async function openContest(root: string, server: ModelServer, place: Place): Promise<Contest> {
  const chatcliPath = join(root, 'bin', 'chatcli.js');
  if (!existsSync(join(root, 'dist', 'main.js'))) throw new Error('There is no dist/: run npm run build first.');
  const sharedFloor = join(root, '..', 'shared', 'tools', 'floor.mjs');
  const floorPath = existsSync(sharedFloor) ? sharedFloor : join(root, 'bench', 'floor.mjs');
  const requestPath = join(place.logFolder, 'request.json');
  const bareEnv = { PATH: process.env.PATH ?? '', HOME: place.logFolder };

  function programOf(contestant: Contestant, baseUrl: string): Program {
    const env = { ...bareEnv, OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'bench' };
    if (contestant === 'ours') {
      const more = { OPENAI_MODEL: 'bench', CHATCLI_AGENT_WORKER_MAX_TURNS: '1000' };
      return { args: [chatcliPath, 'coder', 'go', '--dangerously-skip-permissions'], env: { ...env, ...more } };
    }
    const more = { FLOOR_REQUEST: requestPath, ...(contestant === 'http' && { FLOOR_HTTP: '1' }) };
    return { args: [floorPath, 'go'], env: { ...env, ...more } };
  }

  /** Plays a script to a contestant; one that did not ask as often as the script has turns did something else. */
  async function play<Result>(
    contestant: Contestant,
    script: Script,
    run: (program: Program, place: Place) => Promise<Result>,
  ): Promise<{ readonly result: Result; readonly requestTimes: readonly number[] }> {
    const served = server.serve(script);
    try {
      const result = await run(programOf(contestant, served.baseUrl), place);
      const requestTimes = served.requestTimes();
      if (requestTimes.length !== script.toolCalls + 1)
        throw new Error(`${contestant} sent ${requestTimes.length} requests in place of ${script.toolCalls + 1}.`);
      return { result, requestTimes };
    } finally {
      served.end();
    }
  }

  async function takeRequest(): Promise<void> {
    const served = server.serve({ toolCalls: 0, command: () => '', answer: ['done'] });
    await timing(programOf('ours', served.baseUrl), place);
    writeFileSync(requestPath, served.firstBody());
    served.end();
  }

  await takeRequest();
  return {
    floorPath,
    chatcliPath,
    time: async (contestant, script) => (await play(contestant, script, timing)).result,
    requestTimes: async (contestant, script) => (await play(contestant, script, timing)).requestTimes,
    peakRss: async (contestant, script) => (await play(contestant, script, peakRss)).result,
    timeNode: (...args) => timing({ args, env: bareEnv }, place),
  };
}
