/** Process groups that end with our own process, also where that is a program of somebody else's which knows nothing of them. */
import { createProcessGroups, type ProcessGroups } from './process-group.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Groups that are killed when our process exits, or when one of these signals ends it. A program that handles the signal
 * itself keeps its way to end. Nothing is listened for while no group lives.
 */
export function groupsThatEndWithUs(): ProcessGroups {
  const groups = createProcessGroups();
  const living = new Set<number>();
  const onExit = () => groups.killAll();
  const onSignal = (signal: NodeJS.Signals) => {
    if (process.listenerCount(signal) > 1) return;
    groups.killAll();
    stopListening();
    process.kill(process.pid, signal);
  };
  const stopListening = () => {
    process.removeListener('exit', onExit);
    for (const signal of SIGNALS) process.removeListener(signal, onSignal);
  };
  return {
    ...groups,
    add: (group) => {
      if (living.size === 0) {
        process.on('exit', onExit);
        for (const signal of SIGNALS) process.on(signal, onSignal);
      }
      living.add(group);
      groups.add(group);
    },
    remove: (group) => {
      groups.remove(group);
      if (living.delete(group) && living.size === 0) stopListening();
    },
  };
}
