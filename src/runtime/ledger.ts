/** What the whole tree of workers did, as the harness saw it: files changed, commands run, actions refused. */
import type { Proof } from '../kernel/types.js';
import type { Denial, Permission } from '../permissions/types.js';

export type Deed = {
  readonly permission: Permission;
  readonly ok: boolean;
  readonly touched?: readonly string[];
  readonly command?: { readonly command: string; readonly exitCode: number | null };
};

export type Ledger = {
  /** A call that ran, whatever came of it. */
  readonly record: (deed: Deed) => void;
  readonly deny: (denial: Denial) => void;
  readonly proof: () => Proof;
  readonly denials: () => readonly Denial[];
  /** The first refused action of a class in which nothing succeeded afterwards. */
  readonly unmetDenial: () => Denial | undefined;
};

/** A worker's own ledger tells its `parent` everything too, so that the root's holds the whole tree. */
export function createLedger(parent?: Ledger): Ledger {
  const filesChanged = new Set<string>();
  let commandsSinceLastEdit: { readonly command: string; readonly exitCode: number | null }[] = [];
  const denials: Denial[] = [];
  const unmet = new Map<Permission, Denial>();

  return {
    record: (deed) => {
      parent?.record(deed);
      const { permission, ok, touched = [], command } = deed;
      for (const path of touched) filesChanged.add(path);
      if (touched.length > 0) commandsSinceLastEdit = [];
      if (command !== undefined) commandsSinceLastEdit = [...commandsSinceLastEdit, command];
      if (ok) unmet.delete(permission);
    },
    deny: (denial) => {
      parent?.deny(denial);
      denials.push(denial);
      if (!unmet.has(denial.permission)) unmet.set(denial.permission, denial);
    },
    proof: () => ({ filesChanged: [...filesChanged], commandsSinceLastEdit }),
    denials: () => denials,
    unmetDenial: () => unmet.values().next().value,
  };
}
