import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { makePlace } from './place.js';
import { KEY, start } from './support.js';

const TURNS = 200;
const TOOL_RESULT_BYTES = 100_000;
const MOST_MEGABYTES = 250;

/** Node's share of a page of /proc; elsewhere it is not known, and the run alone is tested. */
function peakMegabytesOf(pid: number): number | undefined {
  const path = `/proc/${pid}/status`;
  const kilobytes = existsSync(path) ? /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(path, 'utf8'))?.[1] : undefined;
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}

it(`${TURNS} turns with a result of 100 kB each stay under ${MOST_MEGABYTES} MB`, async () => {
  const place = makePlace();
  // Another text each time: the same result again would end the run as stuck.
  const line = (file: number, index: number) => `${file} ${index} ${'x'.repeat(90)}\n`;
  for (let file = 0; file < 4; file++) {
    place.write(
      `big-${file}.txt`,
      Array.from({ length: TOOL_RESULT_BYTES / 95 }, (_, index) => line(file, index)).join(''),
    );
  }
  let requests = 0;
  let peak: number | undefined;
  // The fixture's server keeps all it gets, which here is gigabytes.
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      requests += 1;
      peak = peakMegabytesOf(run.pid);
      const call = {
        index: 0,
        id: `call_${requests}`,
        type: 'function',
        function: {
          name: 'shell',
          arguments: JSON.stringify({ command: `cat big-${requests % 4}.txt # ${requests}` }),
        },
      };
      const delta = requests <= TURNS ? { tool_calls: [call] } : { content: 'enough' };
      const event = (choice: object) =>
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        `${event({ delta })}${event({ delta: {}, finish_reason: requests <= TURNS ? 'tool_calls' : 'stop' })}data: [DONE]\n\n`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const run = start(['coder', 'x', '--max-turns', '300', '--dangerously-skip-permissions'], {
    place,
    limitMs: 90_000,
    env: {
      OPENAI_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      OPENAI_API_KEY: KEY,
      OPENAI_MODEL: 'm',
    },
  });
  const { exitCode, stdout } = await run.ended.finally(() => server.close());

  expect({ exitCode, stdout, requests }).toEqual({ exitCode: 0, stdout: 'enough\n', requests: TURNS + 1 });
  expect(peak ?? 0).toBeLessThan(MOST_MEGABYTES);
}, 100_000);
