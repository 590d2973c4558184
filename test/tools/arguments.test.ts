import { describe, expect, it } from 'vitest';
import { normalizeArguments } from '../../src/tools/arguments.js';
import { editFileTool } from '../../src/tools/edit-file/tool.js';
import { readFileTool } from '../../src/tools/read-file/tool.js';
import { searchFilesTool } from '../../src/tools/search-files/tool.js';
import { parametersOf } from '../../src/tools/spec.js';
import { writeFileTool } from '../../src/tools/write-file/tool.js';

const read = parametersOf(readFileTool);
const write = parametersOf(writeFileTool);
const edit = parametersOf(editFileTool);
const search = parametersOf(searchFilesTool);
const shell = {
  type: 'object',
  properties: { command: { type: 'string' }, timeout_ms: { type: 'number' } },
  required: ['command'],
};

describe('normalizeArguments', () => {
  it.each<[string, unknown, Record<string, unknown>, unknown]>([
    ['leaves right arguments alone', { path: 'a', offset: 1 }, read, { path: 'a', offset: 1 }],
    ['knows file_path', { file_path: 'a' }, read, { path: 'a' }],
    ['knows filePath', { filePath: 'a' }, read, { path: 'a' }],
    ['knows file and start_line', { file: 'a', start_line: '3' }, read, { path: 'a', offset: 3 }],
    ['knows contents', { filename: 'a', contents: 'x' }, write, { path: 'a', content: 'x' }],
    [
      'knows oldText and newText',
      { path: 'a', oldText: 'x', newText: 'y' },
      edit,
      { path: 'a', old_string: 'x', new_string: 'y' },
    ],
    [
      'knows old_str and new_str',
      { path: 'a', old_str: 'x', new_str: 'y' },
      edit,
      { path: 'a', old_string: 'x', new_string: 'y' },
    ],
    [
      'knows camel case',
      { path: 'a', oldString: 'x', newString: 'y', replaceAll: true },
      edit,
      { path: 'a', old_string: 'x', new_string: 'y', replace_all: true },
    ],
    ['knows hyphens', { pattern: 'a', 'ignore-case': true }, search, { pattern: 'a', ignore_case: true }],
    ['knows regex and directory', { regex: 'a', directory: 'd' }, search, { pattern: 'a', path: 'd' }],
    [
      'keeps glob where it is a name of its own',
      { pattern: 'a', glob: '*.ts' },
      search,
      { pattern: 'a', glob: '*.ts' },
    ],
    ['knows include', { pattern: 'a', include: '*.ts' }, search, { pattern: 'a', glob: '*.ts' }],
    ['knows cmd and timeout', { cmd: 'ls', timeout: '500' }, shell, { command: 'ls', timeout_ms: 500 }],
    ['does not let an alias win over the name', { path: 'a', file_path: 'b' }, read, { path: 'a', file_path: 'b' }],
    ['takes the first of two aliases', { file_path: 'a', filename: 'b' }, read, { path: 'a' }],
    ['keeps what it does not know', { path: 'a', colour: 'red' }, read, { path: 'a', colour: 'red' }],
    ['reads numbers', { path: 'a', offset: ' 12 ', limit: '-3' }, read, { path: 'a', offset: 12, limit: -3 }],
    ['reads booleans', { path: 'a', replace_all: 'True' }, edit, { path: 'a', replace_all: true }],
    [
      'keeps what is no number',
      { path: 'a', offset: 'end', limit: '0x10' },
      read,
      { path: 'a', offset: 'end', limit: '0x10' },
    ],
    ['keeps text that looks like a number', { path: '12', content: '3' }, write, { path: '12', content: '3' }],
    ['drops null where an argument may be left out', { path: 'a', offset: null, limit: null }, read, { path: 'a' }],
    ['keeps null where it may not', { path: null }, read, { path: null }],
    [
      'reads a list in a string',
      { path: 'a', edits: '[{"oldText":"x","newText":"y"}]' },
      edit,
      { path: 'a', edits: [{ old_string: 'x', new_string: 'y' }] },
    ],
    ['reads all arguments in a string', '{"file_path":"a"}', read, { path: 'a' }],
    [
      'goes into lists',
      { path: 'a', edits: [{ old_str: 'x', newString: 'y', replace_all: 'false' }] },
      edit,
      { path: 'a', edits: [{ old_string: 'x', new_string: 'y', replace_all: false }] },
    ],
    ['keeps a string that is no list', { path: 'a', edits: 'x' }, edit, { path: 'a', edits: 'x' }],
    ['keeps what is no object', 5, read, 5],
    ['keeps null', null, read, null],
    [
      'is not fooled by names that every object has',
      JSON.parse('{"__proto__":{"path":"x"},"constructor":1,"path":"a"}'),
      read,
      JSON.parse('{"__proto__":{"path":"x"},"constructor":1,"path":"a"}'),
    ],
  ])('%s', (_, raw, parameters, expected) => {
    expect(normalizeArguments(raw, parameters)).toEqual(expected);
  });

  it('does not change what it was given', () => {
    const raw = Object.freeze({ file_path: 'a', offset: '1' });
    normalizeArguments(raw, read);
    expect(raw).toEqual({ file_path: 'a', offset: '1' });
  });
});
