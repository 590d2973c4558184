import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { findLocalServers, localCandidates } from '../../src/providers/local.js';
import { startModelServer } from '../fixtures/model-server.js';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function modelServer(models: string[]) {
  const server = await startModelServer([], { models });
  closers.push(server.close);
  return server.url;
}

async function other(answer: (response: import('node:http').ServerResponse) => void) {
  const server = createServer((_request, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

it('the places to look at are the default ports of the local presets', () => {
  expect(localCandidates()).toEqual([
    { preset: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1' },
    { preset: 'lmstudio', baseUrl: 'http://127.0.0.1:1234/v1' },
    { preset: 'llamacpp', baseUrl: 'http://127.0.0.1:8080/v1' },
    { preset: 'vllm', baseUrl: 'http://127.0.0.1:8000/v1' },
  ]);
});

it('finds the servers that list models, in order, and nothing else', async () => {
  const found = await modelServer(['llama3.2', 'qwen3']);
  const empty = await modelServer([]);
  const candidates = [
    { preset: 'ollama', baseUrl: found },
    { preset: 'a', baseUrl: 'http://127.0.0.1:1/v1' },
    { preset: 'b', baseUrl: await other((response) => response.end('<html>a web app</html>')) },
    { preset: 'c', baseUrl: await other((response) => response.writeHead(401).end('{"data":[]}')) },
    { preset: 'd', baseUrl: await other((response) => response.writeHead(302, { location: `${found}/models` }).end()) },
    { preset: 'e', baseUrl: await other((response) => response.end('[]')) },
    { preset: 'vllm', baseUrl: empty },
  ];
  expect(await findLocalServers({ candidates })).toEqual([
    { preset: 'ollama', baseUrl: found, models: ['llama3.2', 'qwen3'] },
    { preset: 'vllm', baseUrl: empty, models: [] },
  ]);
});

it('waits for no server longer than the limit, and for all at once', async () => {
  const silent = await other(() => {});
  const dribbling = await other((response) => {
    const timer = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(timer));
  });
  const before = performance.now();
  const candidates = [silent, dribbling, silent, dribbling].map((baseUrl) => ({ preset: 'x', baseUrl }));
  expect(await findLocalServers({ candidates, timeoutMs: 100 })).toEqual([]);
  expect(performance.now() - before).toBeLessThan(1_000);
});

it('never looks beyond this machine', async () => {
  const found = await modelServer(['m']);
  const candidates = [
    { preset: 'x', baseUrl: 'http://192.0.2.1:11434/v1' },
    { preset: 'x', baseUrl: 'http://127.0.0.1.example.com/v1' },
    { preset: 'x', baseUrl: 'no URL' },
    { preset: 'y', baseUrl: found },
  ];
  const before = performance.now();
  expect((await findLocalServers({ candidates, timeoutMs: 5_000 })).map((server) => server.preset)).toEqual(['y']);
  expect(performance.now() - before).toBeLessThan(2_000);
});
