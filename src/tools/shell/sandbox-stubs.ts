/**
 * Stubs: what stands for a protected path that does not exist, so that something can be mounted on it. Other commands
 * and other programs of ours may rely on the same one, and to remove it would take their mounts away. So a list in the
 * state folder says who relies on what: the last one removes it, or the next one where the last was killed.
 */
import { lstat, mkdir, readdir, readFile, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { identityOf } from '../../process-identity.js';
import type { Missing, SandboxPolicy } from './sandbox-types.js';

type User = {
  readonly id: string;
  readonly pid: number;
  readonly identity: string;
  readonly stubs: readonly Missing[];
};

export type Stubs = {
  /** Looks, makes what is missing, and keeps it there until `release`. Nobody else makes or removes one meanwhile. */
  hold(id: string, look: () => Promise<SandboxPolicy>): Promise<SandboxPolicy>;
  release(id: string): Promise<void>;
  /** Removes what programs left that were killed. */
  sweep(): Promise<void>;
};

/** Files of the state folder that git reads in place of its own, by the id of the command. */
export const EXCLUDE = 'sandbox-exclude-';

const LOCK_STALE_MS = 2_000; // It is held for some milliseconds; the lock of a program that was killed is waited for.
const LOCK_RETRIES = { retries: 1_000, factor: 1, minTimeout: 5, maxTimeout: 10, randomize: true };

export function createStubs(stateFolder: string): Stubs {
  const list = join(stateFolder, 'sandbox-stubs.json');
  const self = { pid: process.pid, identity: identityOf(process.pid) };
  const isAlive = ({ pid, identity }: User) => identity !== '' && identityOf(pid) === identity;
  const write = (users: readonly User[]) => writeFile(list, JSON.stringify(users), { mode: 0o600 });

  async function locked<Result>(work: (users: readonly User[]) => Promise<Result>): Promise<Result> {
    await mkdir(stateFolder, { recursive: true, mode: 0o700 });
    const { lock } = (await import('proper-lockfile')).default;
    const unlock = await lock(list, { realpath: false, stale: LOCK_STALE_MS, retries: LOCK_RETRIES });
    try {
      return await work(await readUsers(list));
    } finally {
      await unlock();
    }
  }

  /** Of commands that are on the list no more. */
  async function removeExcludes(ids: ReadonlySet<string>): Promise<void> {
    const names = (await readdir(stateFolder)).filter((name) => name.startsWith(EXCLUDE));
    const left = names.filter((name) => ![...ids].some((id) => name.startsWith(`${EXCLUDE}${id}-`)));
    await Promise.all(left.map((name) => rm(join(stateFolder, name), { force: true })));
  }

  /** Leaves those that are alive and not `id` on the list, and removes what none of them relies on. */
  async function clear(users: readonly User[], id?: string): Promise<void> {
    const staying = users.filter((user) => user.id !== id && isAlive(user));
    const used = new Set(staying.flatMap(({ stubs }) => stubs.map(({ path }) => path)));
    const unused = users.flatMap(({ stubs }) => stubs).filter(({ path }) => !used.has(path));
    await Promise.all(unused.map(remove));
    await removeExcludes(new Set(staying.map((user) => user.id)));
    await write(staying);
  }

  return {
    hold: (id, look) =>
      locked(async (users) => {
        const policy = await look();
        const known = new Map(users.flatMap(({ stubs }) => stubs.map((stub) => [stub.path, stub])));
        const standing = [...policy.readOnly, ...policy.maskedFolders].flatMap((path) => known.get(path) ?? []);
        // On the list before they are there, so that they are found whatever happens in between.
        await write([...users, { id, ...self, stubs: [...standing, ...policy.missing] }]);
        const makings = await Promise.allSettled(policy.missing.map(make));
        for (const making of makings) if (making.status === 'rejected') throw making.reason;
        const made = policy.missing.filter((_stub, index) => {
          const making = makings[index];
          return making?.status === 'fulfilled' && making.value;
        });
        await write([...users, { id, ...self, stubs: [...standing, ...made] }]);
        return { ...policy, missing: [...standing, ...made] };
      }),
    release: (id) => locked((users) => clear(users, id)),
    sweep: async () => {
      if (!(await readUsers(list)).every(isAlive)) await locked((users) => clear(users));
    },
  };
}

async function readUsers(list: string): Promise<readonly User[]> {
  try {
    return JSON.parse(await readFile(list, 'utf8')) as User[];
  } catch {
    return []; // None yet, or cut off by a full disk: then a stub may stay.
  }
}

/** False where nothing can come into being anyway. */
async function make(stub: Missing): Promise<boolean> {
  try {
    if (stub.kind === 'folder') await mkdir(stub.path);
    else await writeFile(stub.path, stub.content, { flag: 'wx' });
    return true;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EROFS') return false;
    // Whoever owns the folder could give himself the right; nobody else can.
    const owner = code === 'EACCES' ? (await lstat(dirname(stub.path))).uid : process.getuid?.();
    if (owner !== process.getuid?.()) return false;
    throw cause;
  }
}

/** Only what is still as it was made: somebody may have put something there. */
async function remove(stub: Missing): Promise<void> {
  try {
    if (stub.kind === 'folder') await rmdir(stub.path);
    else if ((await readFile(stub.path, 'utf8')) === stub.content) await unlink(stub.path);
  } catch {
    // Gone, or not as it was.
  }
}
