import { describe, expect, it } from 'vitest';
import type { Subject } from '../../src/permissions/types.js';
import { describeSubjects } from '../../src/tools/describe-subjects.js';

describe('describeSubjects', () => {
  it.each<[string, readonly Subject[], string]>([
    ['a path', [{ kind: 'path', path: 'src/a.ts' }], 'src/a.ts'],
    ['a command', [{ kind: 'command', command: 'npm test', cwd: '.' }], 'npm test'],
    [
      'a command and the folder it starts in',
      [{ kind: 'command', command: 'npm test', cwd: 'sub' }],
      'npm test (in sub)',
    ],
    [
      'several things',
      [{ kind: 'path', path: 'a' }, { kind: 'none' }, { kind: 'url', url: 'https://x.org' }],
      'a, https://x.org',
    ],
  ])('names %s', (_, subjects, text) => {
    expect(describeSubjects(subjects)).toBe(text);
  });
});
