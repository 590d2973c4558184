import { describe, expect, it } from 'vitest';
import { fails, says, type Turns } from '../fixtures/model-server.js';
import { jsonOf } from './reading.js';
import { play } from './support.js';

const FILES = { 'a.ts': 'export const answer = 41;\n' };
const TEXT = { CHATCLI_TOOL_PROTOCOL: 'text', CHATCLI_APPROVAL_MODE: 'auto-edit' };

const EDIT = JSON.stringify({ path: 'a.ts', old_string: '41', new_string: '42' });

const JOB = [
  says('I read it first.\n\n<tool_call name="read_file">{"path":"a.ts"}</tool_call>'),
  says(`<tool_call name="edit_file">${EDIT}</tool_call>\n`),
  says('The answer is 42 now.'),
];

describe('a model without tool calling', () => {
  it('edits a file and answers, with the tools in its prompt and no block in what is printed', async () => {
    const run = await play(JOB, ['coder', 'make it 42'], { files: FILES, env: TEXT });

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 0, stdout: 'The answer is 42 now.\n' });
    expect(run.place.read('a.ts')).toBe('export const answer = 42;\n');
    expect(run.stderr).not.toMatch(/<tool_|warning/);
    expect(run.requests.map(({ body }) => 'tools' in body)).toEqual([false, false, false]);
    expect(run.requests[0]?.body.messages[0].content).toContain('## edit_file {path: string');
  });

  it('is found out by itself, with one warning, and does the same job', async () => {
    const refused = fails(400, 'registry.ollama.ai/library/gemma3:latest does not support tools');
    const turns: Turns = (request, index) => (request.body.tools ? refused : (JOB[index - 1] ?? refused));
    const env = { ...TEXT, CHATCLI_TOOL_PROTOCOL: undefined };
    const run = await play(turns, ['coder', 'make it 42', '--output-format', 'json'], { files: FILES, env });

    expect(jsonOf(run)).toMatchObject({
      subtype: 'success',
      result: 'The answer is 42 now.',
      warnings: [expect.stringContaining('no tool calling')],
    });
    expect(run.place.read('a.ts')).toBe('export const answer = 42;\n');
    expect(run.requests.map(({ body }) => 'tools' in body)).toEqual([true, false, false, false]);
  });

  it('with native tools only ends the run with exit 4 after one request, and the setting named', async () => {
    const env = { CHATCLI_TOOL_PROTOCOL: 'native' };
    const run = await play([fails(400, 'gemma3 does not support tools')], ['agent', 'x'], { env });

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 4,
      stdout: '',
      requests: 1,
    });
    expect(run.stderr).toContain('CHATCLI_TOOL_PROTOCOL');
  });

  it('that calls wrong three times in a row ends the run with exit 4, and what it called is not done', async () => {
    const wrong = says('<tool_call name="write_file">{"path":"made","content":"half"}');
    const run = await play([wrong, wrong, wrong, says('never asked')], ['coder', 'x'], { env: TEXT });

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 4,
      stdout: '',
      requests: 3,
    });
    expect(run.stderr).toContain('3 times in a row');
    expect(run.place.has('made')).toBe(false);
  });
});

it('a call that a model prints although it has native tools is run, and not printed', async () => {
  const block = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.ts"}}\n</tool_call>';
  const run = await play([says(block), says('It says 41.')], ['agent', 'what is it?'], { files: FILES });

  expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 0, stdout: 'It says 41.\n' });
  expect(run.requests[1]?.body.messages.at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining('41') });
});
