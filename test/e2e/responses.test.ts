import { describe, expect, it } from 'vitest';
import { calls, fails, says, type Turn } from '../fixtures/model-server.js';
import { jsonOf } from './reading.js';
import { play } from './support.js';

const RESPONSES = { CHATCLI_OPENAI_API: 'responses' };
const looks: Turn = { reasoning: 'hm', sealed: 'SEALED', text: 'I look.', ...calls('read_file', { path: 'a.txt' }) };
const usage = { input_tokens: 9, output_tokens: 3, total_tokens: 12 };

describe('a run through the Responses API', () => {
  it('calls a tool and answers, its reasoning kept with the call', async () => {
    const run = await play([looks, { ...says('It says hello.'), usage }], ['agent', 'What is in a.txt?'], {
      env: RESPONSES,
      files: { 'a.txt': 'hello\n' },
    });

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 0, stdout: 'It says hello.\n' });
    expect(run.requests.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses']);
    const [first, second] = run.requests.map(({ body }) => body);
    expect(second.instructions).toBe(first.instructions);
    expect(second.input.slice(0, first.input.length)).toEqual(first.input);
    expect(second.input.slice(first.input.length)).toEqual([
      expect.objectContaining({ type: 'reasoning', encrypted_content: 'SEALED' }),
      { type: 'message', role: 'assistant', content: 'I look.' },
      expect.objectContaining({ type: 'function_call', name: 'read_file' }),
      expect.objectContaining({ type: 'function_call_output', output: expect.stringContaining('hello') }),
    ]);
  });

  it('tells the same events and the same JSON as one through Chat Completions', async () => {
    const played = async (env: Record<string, string>, wireUsage: object) => {
      const turns = [looks, { ...says('It says hello.'), usage: wireUsage }];
      const options = { env, files: { 'a.txt': 'hello\n' } };
      const run = await play(turns, ['agent', 'x', '--output-format', 'stream-json'], options);
      const events = run.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      return { types: events.map(({ type }) => type), last: events.at(-1) };
    };
    const chat = await played({}, { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 });
    const responses = await played(RESPONSES, usage);

    expect(new Set(responses.types)).toEqual(new Set(chat.types));
    expect(responses.last).toMatchObject({ result: chat.last.result, usage: chat.last.usage });
    expect(JSON.stringify(responses)).not.toContain('SEALED');
  });

  it('is switched to at once, where the endpoint says that it serves the model there alone', async () => {
    const run = await play(
      ({ path, body }) => {
        if (path.endsWith('/chat/completions')) return fails(404, 'This model is only supported in v1/responses.');
        return body.input.length === 1 ? looks : says('It says hello.');
      },
      ['agent', 'x', '--output-format', 'json'],
      { files: { 'a.txt': 'hello\n' } },
    );

    expect(jsonOf(run)).toMatchObject({ exit_code: 0, result: 'It says hello.' });
    expect(run.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/responses', '/v1/responses']);
  });

  it('is not switched to where Chat Completions was chosen, and the error says how', async () => {
    const run = await play([fails(404, 'This model is only supported in v1/responses.')], ['agent', 'x'], {
      env: { CHATCLI_OPENAI_API: 'chat' },
    });

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 4, requests: 1 });
    expect(run.stderr).toContain('CHATCLI_OPENAI_API=responses');
  });

  it('that fails in the middle of a stream is asked for again', async () => {
    const failed = { status: 'failed', error: { code: 'server_error', message: 'oops' } };
    const body = `data: ${JSON.stringify({ type: 'response.failed', response: failed })}\n\n`;
    const turns: Turn[] = [{ body, headers: { 'content-type': 'text/event-stream' } }, says('Hello.')];
    const run = await play(turns, ['agent', 'x'], { env: RESPONSES });

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 0, stdout: 'Hello.\n' });
    expect(run.requests[1]?.body).toEqual(run.requests[0]?.body);
  });
});
