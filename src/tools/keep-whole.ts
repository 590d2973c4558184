/** Keeps the whole of a result that is handed over in part, in a file that the model can read. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { ToolContext } from './types.js';

/** Workers side by side may have calls of the same id. */
const NAMES_AT_MOST = 100;

/**
 * The file that now holds `text`, readable by the user only; undefined where it can't be written, since a full disk must
 * not take the part away that can be handed over.
 */
export async function keepWhole(
  text: string,
  callId: string,
  { spoolDirectory }: Pick<ToolContext, 'spoolDirectory'>,
): Promise<string | undefined> {
  try {
    const folder = await spoolDirectory();
    const name = `result-${callId.replace(/[^\w-]/g, '_').slice(0, 64)}`;
    for (let count = 1; count <= NAMES_AT_MOST; count += 1) {
      const file = join(folder, count === 1 ? `${name}.txt` : `${name}-${count}.txt`);
      if (await writeNew(file, text)) return file;
    }
    return undefined;
  } catch {
    return undefined;
  }
}

/** False when there is such a file already. */
async function writeNew(file: string, text: string): Promise<boolean> {
  const handle = await open(file, 'wx', 0o600).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'EEXIST') return undefined;
    throw thrown;
  });
  if (handle === undefined) return false;
  try {
    await handle.writeFile(text);
  } finally {
    await handle.close();
  }
  return true;
}
