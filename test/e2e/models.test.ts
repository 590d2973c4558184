import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { makePlace } from './place.js';
import { chatcli, KEY, serve } from './support.js';

const closers: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Answers `GET /v1/models` with these, and nothing else. */
const listing = (...data: readonly object[]) => answering(200, JSON.stringify({ data }));

/** Answers `GET /v1/models` so, or never where there is no status; anything else with 404. Gives the base URL. */
async function answering(status: number | undefined, body: string): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url !== '/v1/models') response.writeHead(404).end();
    else if (status !== undefined) response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const models = (env: Readonly<Record<string, string>>, ...flags: readonly string[]) =>
  chatcli(['models', ...flags], { place: makePlace(), env });

describe('chatcli models', () => {
  it('lists what the endpoint offers, joined with what is known, in columns', async () => {
    const url = await listing(
      { id: 'gpt-4o' },
      { id: 'mine', max_model_len: 32_768 },
      { id: 'x/far', context_length: 8_000, pricing: { prompt: '0.00000005', completion: '0.0000125' } },
      { id: 'unheard' },
    );
    const run = await models({ OPENAI_BASE_URL: url });

    expect(run).toMatchObject({ exitCode: 0, stderr: '' });
    expect(run.stdout).toBe(`openai · ${url}

model     window  input  cached  output
gpt-4o   128,000   2.50    1.25   10.00
mine      32,768      -       -       -
x/far      8,000   0.05    0.05   12.50
unheard        -      -       -       -

Window in tokens, prices in USD per million tokens; - is not known.
`);
  });

  it('gives the same as JSON', async () => {
    const url = await listing({ id: 'gpt-4o' }, { id: 'unheard' });
    const run = await models({ OPENAI_BASE_URL: url }, '--output-format', 'json');

    expect(JSON.parse(run.stdout)).toEqual({
      type: 'models',
      provider: 'openai',
      base_url: url,
      source: 'endpoint',
      models: [
        { id: 'gpt-4o', context_window: 128_000, price: { input: 2.5, cached_input: 1.25, output: 10 } },
        { id: 'unheard', context_window: null, price: null },
      ],
    });
  });

  it('keeps each model on one line, whatever its name is, and the table in the window', async () => {
    const long = 'x'.repeat(81);
    const url = await listing({ id: 'a\nb\u001B[31m\u200B c' }, { id: long }, { id: long.slice(1) });
    const { stdout } = await models({ OPENAI_BASE_URL: url });
    const ids = stdout
      .split('\n')
      .slice(3, 6)
      .map((line) => line.slice(0, 80).trim());
    expect(ids).toEqual(['a b [31m c', `${'x'.repeat(79)}…`, long.slice(1)]);

    const asJson = await models({ OPENAI_BASE_URL: url }, '--output-format', 'json');
    const listed: readonly { readonly id: string }[] = JSON.parse(asJson.stdout).models;
    expect(listed.map(({ id }) => id)).toEqual(['a b [31m c', long, long.slice(1)]);
  });

  it('shows our own table where nothing answers, and says on stderr why', async () => {
    const server = await serve([], { apiKey: KEY });
    await server.close();
    const run = await models({ CHATCLI_PROVIDER: 'deepseek', DEEPSEEK_API_KEY: KEY, CHATCLI_BASE_URL: server.url });

    expect(run.exitCode).toBe(4);
    expect(run.stderr).toBe(
      `error: deepseek gives no list of models: Nothing answers at ${server.url}/models: the connection was refused.\n`,
    );
    expect(run.stdout).toBe(`deepseek · ${server.url}
From our own table, which may be out of date:

model               window  input  cached  output
deepseek-chat      128,000   0.28   0.028    0.42
deepseek-reasoner  128,000   0.28   0.028    0.42

Window in tokens, prices in USD per million tokens; - is not known.
`);
  });

  it.each<[string, number, string, RegExp]>([
    ['refuses the key', 401, '{"error":{"message":"bad key"}}', /answered 401: .*bad key/],
    ['forbids it', 403, '{}', /answered 403/],
    ['breaks', 500, 'boom', /answered 500: boom/],
    ['has no such list', 404, '', /answered 404/],
    ['answers with a page', 200, '<html>Log in</html>', /did not answer with JSON/],
    ['answers with something else', 200, '{"ok":true}', /holds no list of models/],
  ])('ends with exit 4, and still shows our table, where the endpoint %s', async (_, status, body, why) => {
    const env = { CHATCLI_BASE_URL: await answering(status, body), DEEPSEEK_API_KEY: KEY };
    const [text, json] = [
      await models(env, '--provider', 'deepseek'),
      await models(env, '--provider', 'deepseek', '--output-format', 'json'),
    ];

    expect([text.exitCode, json.exitCode]).toEqual([4, 4]);
    for (const { stderr } of [text, json]) expect(stderr).toMatch(why);
    expect(text.stdout).toMatch(/From our own table.*deepseek-chat/s);
    expect(text.stdout).not.toMatch(why);
    expect(JSON.parse(json.stdout)).toMatchObject({ source: 'table', problem: expect.stringMatching(why) });
  });

  it('waits no longer than CHATCLI_FIRST_BYTE_TIMEOUT', async () => {
    const env = { OPENAI_BASE_URL: await answering(undefined, ''), CHATCLI_FIRST_BYTE_TIMEOUT: '1s' };
    const run = await models(env);

    expect(run.exitCode).toBe(4);
    expect(run.stderr).toMatch(/within 1 ?s/);
  });

  it('needs neither a key nor a model', async () => {
    const url = await listing({ id: 'x/a', context_length: 9_000 });
    const run = await models({ CHATCLI_BASE_URL: url }, '--provider', 'openrouter');

    expect(run.exitCode).toBe(0);
    expect(run.stdout).toContain('x/a     9,000');
  });

  it('says of a preset that serves the models of others that nothing is known without it', async () => {
    const dead = 'http://127.0.0.1:9/v1';
    const run = await models({ CHATCLI_BASE_URL: dead }, '--provider', 'groq', '--output-format', 'json');

    expect(JSON.parse(run.stdout)).toMatchObject({ provider: 'groq', source: 'table', models: [] });
  });

  it.each([
    ['an unknown provider', ['--provider', 'nobody'], 3, 'nobody'],
    ['a provider without models', ['--provider', 'scripted'], 2, 'scripted'],
    ['an unknown format', ['--output-format', 'xml'], 2, 'xml'],
  ])('refuses %s', async (_, flags, exitCode, named) => {
    const run = await models({ CHATCLI_SCRIPT: 'script.json' }, ...flags);

    expect([run.exitCode, run.stdout]).toEqual([exitCode, '']);
    expect(run.stderr).toContain(named);
  });
});
