/** Process groups that end with our own process, also where that is a program of somebody else's which knows nothing of them. */
import { createProcessGroups, type ProcessGroups } from './process-group.js';

/** On the listeners of all such groups: several agents in one program are no reason to think that it listens itself. */
const OURS = Symbol('process groups');

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Groups that are killed when our process exits, or when one of these signals ends it. A program that handles the signal
 * itself keeps its way to end. Nothing is listened for while no group lives or starts.
 */
export function groupsThatEndWithUs(): ProcessGroups {
  const groups = createProcessGroups();
  const living = new Set<number>();
  let starts = 0;
  let isListening = false;
  const onExit = () => groups.killAll();
  const hear = (signal: NodeJS.Signals) => {
    if (process.listeners(signal).some((listener) => !(OURS in listener))) return;
    groups.killAll();
    isListening = false;
    setListening(false);
    // The last of us to hear it passes it on.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  const onSignal = Object.assign(hear, { [OURS]: true });
  const setListening = (on: boolean) => {
    const change = on ? 'on' : 'removeListener';
    process[change]('exit', onExit);
    for (const signal of SIGNALS) process[change](signal, onSignal);
  };
  const update = () => {
    const isNeeded = living.size + starts > 0;
    if (isNeeded !== isListening) setListening(isNeeded);
    isListening = isNeeded;
  };
  return {
    ...groups,
    // A signal that comes between a start and its `add` would else end us before anybody knows of the group.
    starting: () => {
      starts += 1;
      update();
      return () => {
        starts -= 1;
        update();
      };
    },
    add: (group) => {
      living.add(group);
      groups.add(group);
      update();
    },
    remove: (group) => {
      living.delete(group);
      groups.remove(group);
      update();
    },
  };
}
