import { describe, expect, it } from 'vitest';
import type { Denial, Permission } from '../../src/permissions/types.js';
import { createLedger } from '../../src/runtime/ledger.js';

const denial = (permission: Permission, subject = 's'): Denial => ({
  callId: 'c',
  tool: 't',
  permission,
  subject,
  rule: 'r',
  reason: 'because',
});

describe('the ledger', () => {
  it('forgets commands that ran before the last edit', () => {
    const ledger = createLedger();
    ledger.record({ permission: 'execute', ok: true, command: { command: 'npm test', exitCode: 0 } });
    ledger.record({ permission: 'write', ok: true, touched: ['a', 'b'] });
    ledger.record({ permission: 'execute', ok: false, command: { command: 'npm run lint', exitCode: 1 } });
    ledger.record({ permission: 'write', ok: false });
    expect(ledger.proof()).toEqual({
      filesChanged: ['a', 'b'],
      commandsSinceLastEdit: [{ command: 'npm run lint', exitCode: 1 }],
    });
  });

  it.each<[string, Permission, boolean, boolean]>([
    ['an action of the same class that succeeded', 'execute', true, false],
    ['one that failed', 'execute', false, true],
    ['an action of another class', 'write', true, true],
  ])('a denial followed by %s is unmet: %4$s', (_, permission, ok, unmet) => {
    const ledger = createLedger();
    ledger.deny(denial('execute'));
    ledger.record({ permission, ok });
    expect(ledger.unmetDenial() !== undefined).toBe(unmet);
  });

  it('counts a denial after the success', () => {
    const ledger = createLedger();
    ledger.record({ permission: 'write', ok: true });
    ledger.deny(denial('write', 'x'));
    expect(ledger.unmetDenial()?.subject).toBe('x');
  });

  it('tells its parent everything, and keeps its own apart', () => {
    const root = createLedger();
    const [one, two] = [createLedger(root), createLedger(root)];
    one.record({ permission: 'write', ok: true, touched: ['a'] });
    two.record({ permission: 'write', ok: true, touched: ['b'] });
    two.deny(denial('network'));
    expect([root, one, two].map((ledger) => ledger.proof().filesChanged)).toEqual([['a', 'b'], ['a'], ['b']]);
    expect(root.denials()).toHaveLength(1);
  });
});
