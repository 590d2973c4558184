/** What a program is called, however it is reached. */

/** The name without the folder and the ending of Windows, in lower case: not every file system tells cases apart. */
export function programName(program: string): string {
  return program
    .replace(/^.*[\\/]/s, '')
    .replace(/\.exe$/i, '')
    .toLowerCase();
}
