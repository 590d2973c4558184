/** Shows output while a command runs, at a pace that people and event logs can bear. */

const PAUSE_MS = 100;
const MAX_CHARACTERS = 4_000; // about a screen: what scrolls by faster nobody reads.

export type LiveUpdates = { push(text: string): void; finish(): void };

/** Hands text on at once, then at most every 100 ms; what came in between is one update, of its last 4,000 characters. */
export function createLiveUpdates(update: (text: string) => void): LiveUpdates {
  let waiting = '';
  let cut = false;
  let timer: NodeJS.Timeout | undefined;

  const send = () => {
    timer = undefined;
    if (waiting === '') return;
    update(cut ? `[…]\n${waiting}` : waiting);
    waiting = '';
    cut = false;
    timer = setTimeout(send, PAUSE_MS);
  };
  return {
    push: (text) => {
      const whole = waiting + text;
      waiting = whole.slice(-MAX_CHARACTERS);
      cut ||= waiting.length < whole.length;
      if (timer === undefined) send();
    },
    finish: () => {
      clearTimeout(timer);
      send();
      clearTimeout(timer);
    },
  };
}
