/** Paths taken apart for comparison with names that must be recognised however they are spelled. */

// What a file system may ignore in a name, so that another spelling still opens the file: zero-width and direction marks.
const IGNORABLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/g;

/**
 * The segments of a path, without empty ones and `.`, in lower case and one Unicode form: on a file system that does
 * not tell `.ENV` from `.env` they are one file, and on another one an extra question is the smaller harm.
 */
export function foldedSegments(path: string): string[] {
  return path
    .normalize('NFC')
    .replace(IGNORABLE, '')
    .toLowerCase()
    .split(/[\\/]/)
    .filter((segment) => segment !== '' && segment !== '.');
}
