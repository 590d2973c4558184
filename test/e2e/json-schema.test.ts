import { describe, expect, it } from 'vitest';
import { calls, fails, says } from '../fixtures/model-server.js';
import { jsonOf, streamOf } from './reading.js';
import { KEY, play } from './support.js';

const SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string' }, count: { type: 'integer' } },
  required: ['name', 'count'],
};
const TEXT = JSON.stringify(SCHEMA);
const GOOD = '```json\n{\n  "name": "a",\n  "count": 2\n}\n```';

describe('--json-schema', () => {
  it.each([
    ['agent', ['agent', 'count', '--json-schema', TEXT]],
    ['coder', ['coder', 'count', '--json-schema', TEXT]],
    ['-p', ['-p', 'count', '--json-schema', TEXT]],
    ['a file', ['agent', 'count', '--json-schema', 'schema.json']],
    ['a flag before the command', ['--json-schema', TEXT, 'agent', 'count']],
  ])('with %s prints the JSON that fits on one line, and nothing else', async (_, args) => {
    const { exitCode, stdout, requests } = await play([says(GOOD)], args, {
      files: { 'schema.json': JSON.stringify(SCHEMA, null, 2) },
    });

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '{"name":"a","count":2}\n' });
    expect(requests[0]?.body.messages[0].content).toContain(TEXT);
    expect(requests[0]?.body.response_format.json_schema).toEqual({ name: 'answer', schema: SCHEMA, strict: false });
  });

  it('says what is wrong and asks again, in the same conversation', async () => {
    const run = await play(
      [calls('list_files'), says('It is two.'), says('{"name":"a"}'), says(GOOD)],
      ['agent', 'count', '--json-schema', TEXT, '--output-format', 'stream-json'],
    );

    const { events, result } = streamOf(run);
    expect(result).toMatchObject({
      subtype: 'success',
      exit_code: 0,
      result: '{"name":"a","count":2}',
      structured_result: { name: 'a', count: 2 },
      num_turns: 4,
    });
    expect(events.flatMap((event) => (event.type === 'output-check' ? [event.status] : []))).toEqual([
      'refused',
      'refused',
      'passed',
    ]);
    const last = run.requests[3]?.body.messages.at(-1);
    expect(last).toEqual({ role: 'user', content: expect.stringContaining("must have required property 'count'") });
  });

  it('ends with exit 1 and error_schema once the model was asked three times more', async () => {
    const run = await play(() => says('No.'), ['agent', 'count', '--json-schema', TEXT, '--output-format', 'json']);

    expect(run.exitCode).toBe(1);
    expect(run.requests).toHaveLength(4);
    expect(jsonOf(run)).toMatchObject({
      subtype: 'error_schema',
      is_error: true,
      exit_code: 1,
      num_turns: 4,
      error: { kind: 'output', message: expect.stringContaining('refused 4 times') },
    });
    expect(jsonOf(run)).not.toHaveProperty('structured_result');
  });

  it('prints nothing on stdout where no answer fits', async () => {
    const { exitCode, stdout, stderr } = await play(() => says('No.'), ['agent', 'count', '--json-schema', TEXT]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain('it is not JSON');
  });

  it.each([
    ['a schema that is not valid', ['--json-schema', '{"type":"strnig"}'], 'schema is not valid'],
    ['text that is no JSON', ['--json-schema', '{"type"'], 'not JSON'],
    ['a file that is not there', ['--json-schema', 'nowhere.json'], 'nowhere.json'],
    ['a file that holds no object', ['--json-schema', 'list.json'], 'not a JSON object'],
    ['a folder', ['--json-schema', '.'], 'EISDIR'],
    ['nothing', ['--json-schema', ''], 'is empty'],
  ])('with %s is exit 2 before anything is sent', async (_, flags, named) => {
    const files = { 'list.json': '[]' };
    const { exitCode, stdout, stderr, requests } = await play([says(GOOD)], ['agent', 'count', ...flags], { files });

    expect({ exitCode, stdout, requests: requests.length }).toEqual({ exitCode: 2, stdout: '', requests: 0 });
    expect(stderr).toContain(named);
  });

  it('lets a summary at a turn limit be what it is', async () => {
    const run = await play(
      [calls('list_files'), says('Half is done.')],
      ['agent', 'count', '--json-schema', TEXT, '--max-turns', '1', '--output-format', 'json'],
    );

    expect(jsonOf(run)).toMatchObject({ subtype: 'error_max_turns', exit_code: 5, result: 'Half is done.' });
    expect(run.requests).toHaveLength(2);
    expect(run.requests[1]?.body).not.toHaveProperty('response_format');
  });

  it('binds the worker that answers, not those it delegates to', async () => {
    const delegated = calls('delegate', { tasks: [{ worker: 'file', task: 'look' }] });
    const { exitCode, stdout, requests } = await play(
      [delegated, says('I looked.'), says(GOOD)],
      ['agent', 'count', '--json-schema', TEXT],
    );

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '{"name":"a","count":2}\n' });
    expect(requests.map(({ body }) => 'response_format' in body)).toEqual([true, false, true]);
    expect(requests[1]?.body.messages[0].content).not.toContain(TEXT);
  });

  it('does not bind the choice of a worker', async () => {
    const { stdout, requests } = await play(
      [says('{"worker":"file"}'), says(GOOD)],
      ['agent', 'count', '--json-schema', TEXT],
      {
        env: { CHATCLI_AGENT_PARALLEL_MODE: 'false' },
      },
    );

    expect(stdout).toBe('{"name":"a","count":2}\n');
    expect(requests.map(({ body }) => 'response_format' in body)).toEqual([false, true]);
  });

  it('does without response_format where the endpoint refuses it', async () => {
    const { exitCode, stdout } = await play(
      ({ body }) => (body.response_format ? fails(400, "'response_format' is not supported") : says(GOOD)),
      ['agent', 'count', '--json-schema', TEXT],
    );

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '{"name":"a","count":2}\n' });
  });

  it('shows no key in a value', async () => {
    const answer = JSON.stringify({ name: KEY, count: 1 });
    const run = await play([says(answer)], ['agent', 'x', '--json-schema', TEXT, '--output-format', 'json']);

    const { result, structured_result: value } = jsonOf(run);
    expect(JSON.parse(result)).toEqual(value);
    expect(value.count).toBe(1);
  });
});
