/** The subjects of a call in words, for people. */
import type { Subject } from '../permissions/types.js';

/** What a call is about, for people: its path, its command and where that starts, or its URL. */
export function describeSubjects(subjects: readonly Subject[]): string {
  return subjects
    .map((subject) => {
      if (subject.kind === 'path') return subject.path;
      if (subject.kind === 'command')
        return subject.cwd === '.' ? subject.command : `${subject.command} (in ${subject.cwd})`;
      return subject.kind === 'url' ? subject.url : '';
    })
    .filter((text) => text !== '')
    .join(', ');
}
