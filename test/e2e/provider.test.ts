import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { calls, fails, type RecordedRequest, says, type Turn } from '../fixtures/model-server.js';
import { jsonOf, lastResult, resultsIn } from './reading.js';
import { chatcli, KEY, type PlayOptions, play } from './support.js';

/** What a failing endpoint answers, as an event stream of its own words. */
const stream = (body: string): Turn => ({ body, headers: { 'content-type': 'text/event-stream' } });

const ONE_TRY = { CHATCLI_MAX_RETRIES: '0' };
const TWO_TRIES = { CHATCLI_MAX_RETRIES: '1' };

const ask = (turns: readonly Turn[], env: PlayOptions['env'] = {}, ...flags: readonly string[]) =>
  play(turns, ['agent', 'x', ...flags], { env });

describe('an endpoint that fails for good', () => {
  it.each<[string, Turn, string]>([
    ['401', fails(401, 'bad key'), 'OPENAI_API_KEY'],
    ['403', fails(403, 'not yours'), 'not yours'],
    ['400', fails(400, 'bad model'), 'bad model'],
    ['404', fails(404, 'no such model'), 'no such model'],
    ['402', fails(402, 'Insufficient balance'), 'Insufficient balance'],
    ['429 for want of money', fails(429, 'You exceeded your current quota', { code: 'insufficient_quota' }), 'quota'],
    ['413', fails(413, 'request is too large'), 'too large'],
    ['a redirect', { status: 307, body: 'moved', headers: { location: 'http://127.0.0.1:9/v1' } }, 'redirect'],
    [
      'a page of HTML with status 200',
      { body: '<html><body>Sign in</body></html>', headers: { 'content-type': 'text/html' } },
      'base URL',
    ],
    ['JSON with status 200 that is no completion', { body: { ok: true } }, 'base URL'],
    ['a refusal by its content filter', { text: 'I', finishReason: 'content_filter' }, 'content filter'],
    [
      'an error in the stream that trying again will not change',
      stream('data: {"error":{"message":"no such thing","code":400}}\n\n'),
      'no such thing',
    ],
  ])('with %s ends the run with exit 4 after one request, and nothing on stdout', async (_, turn, words) => {
    const run = await ask([turn]);

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 4,
      stdout: '',
      requests: 1,
    });
    expect(run.stderr).toMatch(/^error: /m);
    expect(run.stderr).toContain(words);
  });

  it('is told in JSON, with the mark of an error, also with --debug on stderr', async () => {
    const run = await ask([fails(400, 'bad model')], {}, '--output-format', 'json', '--debug');

    expect(jsonOf(run)).toMatchObject({
      subtype: 'error_provider',
      is_error: true,
      exit_code: 4,
      result: '',
      error: { kind: 'provider', message: expect.stringContaining('bad model') },
    });
    expect(run.stderr).toContain('bad model');
    expect(run.requests).toHaveLength(1);
  });

  it('that repeats the key does not get it shown', async () => {
    const run = await ask([fails(401, `Incorrect API key provided: ${KEY}`)], {}, '--output-format', 'json');

    expect(run.exitCode).toBe(4);
  });

  it('in a delegated worker fails that worker only', async () => {
    const turns = [
      calls('delegate', { tasks: [{ worker: 'file', task: 'look' }] }),
      fails(400, 'not today'),
      says('It failed.'),
    ];
    const run = await play(turns, ['agent', 'x']);

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 0, stdout: 'It failed.\n' });
    expect(lastResult(run)).toContain('not today');
  });
});

describe('an endpoint that fails for a while', () => {
  it.concurrent.each<[string, Turn]>([
    ['429', fails(429, 'slow down', { headers: { 'retry-after': '0' } })],
    ['503', fails(503, 'overloaded')],
    ['500', fails(500, 'oops')],
    ['529', fails(529, 'overloaded')],
    ['a reset connection', { fault: { kind: 'reset' } }],
    ['a reset in the middle of its reply', { text: 'Hal', fault: { kind: 'reset', at: 'content' } }],
    ['a reply that ends too early', { text: 'Hal', fault: { kind: 'truncate' } }],
    ['an error in its stream', stream('data: {"error":{"message":"overloaded, sorry"}}\n\n')],
    ['silence before its reply', { fault: { kind: 'hang' } }],
    ['silence in the middle of its reply', { text: 'Hal', fault: { kind: 'hang', at: 'content' } }],
  ])('with %s is asked again, and the run is none the worse', async (_, turn) => {
    // Only where it is waited for: a busy machine may take longer to answer well.
    const limits = { CHATCLI_FIRST_BYTE_TIMEOUT: '2s', CHATCLI_IDLE_TIMEOUT: '500ms' };
    const run = await ask([turn, says('Hello.')], turn.fault?.kind === 'hang' ? limits : {});

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 0,
      stdout: 'Hello.\n',
      requests: 2,
    });
    expect(run.requests[1]?.body).toEqual(run.requests[0]?.body);
    expect(run.stderr).toMatch(/Trying again in .* \(2 of 4\)/);
  });

  it.concurrent('and breaks off in the middle leaves one assistant message in the history', async () => {
    const run = await ask([
      { text: 'I will lo', fault: { kind: 'reset', at: 'content' } },
      { ...calls('list_files'), text: 'I will look.' },
      says('Empty.'),
    ]);

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 0, stdout: 'Empty.\n' });
    const said = run.requests[2]?.body.messages.filter(({ role }: { role: string }) => role === 'assistant');
    expect(said).toEqual([expect.objectContaining({ content: 'I will look.' })]);
  });

  it.concurrent('is asked again no sooner than its Retry-After says', async () => {
    const run = await ask([fails(429, 'slow down', { headers: { 'retry-after': '2' } }), says('ok')]);

    const [first, second] = run.requests.map(({ at }) => at);
    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 0,
      stdout: 'ok\n',
      requests: 2,
    });
    // A server's clock has whole milliseconds.
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1_999);
    expect((second ?? 0) - (first ?? 0)).toBeLessThan(6_000);
  });

  it.concurrent('for longer than anybody waits ends the run at once, with the wait named', async () => {
    const run = await play(() => fails(429, 'come back later', { headers: { 'retry-after': '3600' } }), ['agent', 'x']);

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 4, stdout: '' });
    expect(run.requests.length).toBeLessThanOrEqual(2);
    expect(run.stderr).toMatch(/60 min|1 h|3600 s/);
    expect(run.ms).toBeLessThan(10_000);
  });

  it.concurrent.each<[string, Turn, PlayOptions['env'], number]>([
    ['503', fails(503, 'overloaded'), TWO_TRIES, 2],
    ['503, told not to try again', fails(503, 'overloaded'), ONE_TRY, 1],
    ['an error object with status 200', stream('data: {"error":{"message":"overloaded"}}\n\n'), TWO_TRIES, 2],
    ['silence', { fault: { kind: 'hang' } }, { ...ONE_TRY, CHATCLI_FIRST_BYTE_TIMEOUT: '300ms' }, 1],
    [
      'silence in the middle',
      { text: 'Hal', fault: { kind: 'hang', at: 'content' } },
      { ...ONE_TRY, CHATCLI_IDLE_TIMEOUT: '300ms' },
      1,
    ],
    ['a reset in the middle', { text: 'Hal', fault: { kind: 'reset', at: 'content' } }, TWO_TRIES, 2],
  ])('with %s and never comes back ends the run with exit 4', async (_, turn, env, requests) => {
    const run = await play(() => turn, ['agent', 'x'], { env: env ?? {} });

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 4,
      stdout: '',
      requests,
    });
  });
});

describe('no endpoint at all', () => {
  it.each([
    ['behind a closed port', async () => `http://127.0.0.1:${await closedPort()}/v1`, 'server runs'],
    ['behind a name that does not resolve', async () => 'http://nowhere.invalid/v1', 'nowhere.invalid'],
  ])('%s ends the run with exit 4 and says what to check', async (_, url, words) => {
    const env = { OPENAI_BASE_URL: await url(), OPENAI_API_KEY: KEY, OPENAI_MODEL: 'm', ...ONE_TRY };
    const run = await chatcli(['agent', 'x'], { env });

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 4, stdout: '' });
    expect(run.stderr).toContain(words);
  });
});

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('There is no port.');
  return address.port;
}

describe('an empty reply', () => {
  it('is asked for again twice; three in a row end the run with exit 4', async () => {
    const run = await play(() => ({ text: '' }), ['agent', 'x', '--output-format', 'json']);

    expect(jsonOf(run)).toMatchObject({ subtype: 'error_provider', exit_code: 4, is_error: true });
    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 4, requests: 3 });
    expect(run.stderr).toContain('empty');
  });

  it('between two good ones costs nothing but a request', async () => {
    const run = await ask([{ text: '' }, calls('list_files'), { text: [] }, { text: ' \n' }, says('done')]);

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 0,
      stdout: 'done\n',
      requests: 5,
    });
  });
});

describe('a reply in another shape', () => {
  it('byte by byte, with CRLF, comments and no blank after "data:", comes through whole', async () => {
    const text = '修复 🛠️ ok é';
    const run = await ask([{ text, awkward: true }], {}, '--output-format', 'stream-json');
    const plain = await ask([{ text, awkward: true }]);

    expect(plain.stdout).toBe(`${text}\n`);
    expect(run.stdout).not.toContain('\uFFFD');
    expect(run.stdout).toContain(text);
  });

  it('with every call at index 0 runs each of them, in order', async () => {
    const both = ['x', 'y'].map((name, index) => ({
      name: 'read_file',
      arguments: { path: `${name}.txt` },
      id: `k${index + 1}`,
      index: 0,
    }));
    const run = await play([{ calls: both }, says('ok')], ['agent', 'x'], {
      files: { 'x.txt': 'X\n', 'y.txt': 'Y\n' },
    });

    const [, , said, ...results] = run.requests[1]?.body.messages ?? [];
    expect(said.tool_calls.map(({ id }: { id: string }) => id)).toEqual(['k1', 'k2']);
    expect(results).toEqual([
      { role: 'tool', tool_call_id: 'k1', content: expect.stringContaining('X') },
      { role: 'tool', tool_call_id: 'k2', content: expect.stringContaining('Y') },
    ]);
    expect(run.exitCode).toBe(0);
  });

  it.each<[string, Turn]>([
    [
      'calls without ids',
      {
        calls: [
          { name: 'list_files', id: '' },
          { name: 'list_files', id: '' },
        ],
      },
    ],
    [
      'calls that share an id',
      {
        calls: [
          { name: 'list_files', id: 'a' },
          { name: 'read_file', arguments: { path: 'x' }, id: 'a' },
        ],
      },
    ],
    ['a call of an unknown tool', calls('fly', { to: 'moon' })],
    ['a call with a name no endpoint takes', calls('list files!', {})],
    ['arguments that are no JSON', calls('list_files', '{"path": "x')],
    ['arguments that are no object', calls('list_files', '["x"]')],
    ['no arguments', calls('list_files', '')],
    ['a finish reason of "stop" beside a call', { ...calls('list_files'), finishReason: 'stop' }],
    ['no finish reason beside a call', { ...calls('list_files'), finishReason: null }],
    ['no [DONE]', { ...calls('list_files'), withoutDone: true }],
  ])('with %s gets each call its result, and the strictest endpoint takes the next request', async (_, turn) => {
    const run = await ask([turn, says('ok')]);

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 0,
      stdout: 'ok\n',
      requests: 2,
    });
    expect(resultsIn(run.requests[1])).toHaveLength(turn.calls?.length ?? 0);
  });

  it('as one JSON body in place of a stream is read all the same', async () => {
    const message = { role: 'assistant', content: 'whole' };
    const run = await ask([
      { body: { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] } },
    ]);

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 0, stdout: 'whole\n' });
  });

  it('that was cut by its length runs none of its calls, and the model is told', async () => {
    const cut: Turn = {
      calls: [{ name: 'write_file', arguments: '{"path":"out.txt","content":"line1\\nli', id: 'w1' }],
      finishReason: 'length',
    };
    const run = await play([cut, says('gave up')], ['coder', 'x', '--dangerously-skip-permissions']);

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 0,
      stdout: 'gave up\n',
      requests: 2,
    });
    expect(run.place.has('out.txt')).toBe(false);
    expect(lastResult(run)).toMatch(/cut off|length/);
  });

  it('with reasoning shows it only when asked, and never as the answer', async () => {
    const turn = { reasoning: 'Hm, hm.', text: 'Yes.' };
    const quiet = await ask([turn]);
    const verbose = await ask([turn], {}, '--verbose');

    expect([quiet.stdout, verbose.stdout]).toEqual(['Yes.\n', 'Yes.\n']);
    expect([quiet.stderr.includes('Hm, hm.'), verbose.stderr.includes('Hm, hm.')]).toEqual([false, true]);
  });
});

describe('a model that thinks', () => {
  const thinks = (words: string): Turn => ({ ...calls('list_files'), reasoning: words });
  const REFUSAL = 'The `reasoning_content` in the thinking mode must be passed back to the API.';
  /** Refuses every history in which a reply with calls lacks its reasoning. */
  const insists = (turns: readonly Turn[]) => {
    let played = 0;
    return ({ body }: RecordedRequest): Turn => {
      const isFine = body.messages.every(
        (message: object) => !('tool_calls' in message) || 'reasoning_content' in message,
      );
      return (isFine ? turns[played++] : fails(400, REFUSAL)) ?? fails(500, 'no more turns');
    };
  };
  const turns = [thinks('I look.'), thinks('I look again.'), says('done')];

  it('and insists on its reasoning gets it back, each reply its own, after one refusal', async () => {
    const run = await play(insists(turns), ['agent', 'x']);

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 0,
      stdout: 'done\n',
      requests: 4,
    });
    const last = run.requests.at(-1)?.body.messages.filter(({ role }: { role: string }) => role === 'assistant');
    expect(last).toMatchObject([{ reasoning_content: 'I look.' }, { reasoning_content: 'I look again.' }]);
  });

  it.each([
    ['always', 0, 3],
    ['never', 4, 2],
  ])('gets it %s where CHATCLI_SEND_REASONING says so', async (setting, exitCode, requests) => {
    const run = await play(insists(turns), ['agent', 'x'], { env: { CHATCLI_SEND_REASONING: setting } });

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode, requests });
    if (exitCode !== 0) expect(run.stderr).toContain('CHATCLI_SEND_REASONING');
  });

  it('and leaves its thinking in the text has it taken out of the answer', async () => {
    const run = await ask([{ text: ['<th', 'ink>Hm, hm.</think>\n\nYes.'] }]);

    expect(run.stdout).toBe('Yes.\n');
  });
});

describe('the model that is asked', () => {
  it.each<[string, PlayOptions['env'], readonly string[], string]>([
    ['-m before all else', { CHATCLI_MODEL: 'a', OPENAI_MODEL: 'b' }, ['-m', 'c'], 'c'],
    ['CHATCLI_MODEL before OPENAI_MODEL', { CHATCLI_MODEL: 'a', OPENAI_MODEL: 'b' }, [], 'a'],
    ['the variable of a worker', { CHATCLI_AGENT_CODER_MODEL: 'd', OPENAI_MODEL: 'b' }, [], 'd'],
    ['what the endpoint serves, where nothing is set', { OPENAI_MODEL: undefined }, [], 'served'],
  ])('is %s', async (_, env, flags, model) => {
    const run = await play([says('ok')], ['coder', 'x', '--output-format', 'json', ...flags], {
      env: env ?? {},
      model: { models: ['served'] },
    });

    expect([run.requests[0]?.body.model, jsonOf(run).model]).toEqual([model, model]);
  });
});
