/** What it costs to keep a long history within the window, in this process: no model, no program. */
import { planCompaction } from '../src/context/compact.js';
import { windowMemory } from '../src/context/memory.js';
import { shrinkable, startOfRound } from '../src/context/shrink.js';
import { createTokenCounter } from '../src/context/tokens.js';
import type { Message } from '../src/kernel/types.js';
import type { Figure } from './table.js';

const MESSAGES = 10_000;
const RESULT = 'src/cart.js:12: const total = items.reduce((sum, item) => sum + item.price, 0);\n'.repeat(10);
const WINDOW_TOKENS = 128_000;
const TIMES = 9;

/** Made anew each time, so that nothing of it was counted before. */
function history(): readonly Message[] {
  const messages: Message[] = [
    { role: 'system', content: 'You work.' },
    { role: 'user', content: 'Do it.' },
  ];
  while (messages.length < MESSAGES) {
    const id = `call_${messages.length}`;
    const call = { id, name: 'read_file', arguments: `{"path":"src/${id}.ts"}` };
    messages.push(
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', callId: id, name: 'read_file', content: RESULT },
    );
  }
  return messages;
}

export async function contextFigures(): Promise<readonly Figure[]> {
  return [
    {
      name: '10,000 messages trimmed',
      unit: 'ms',
      ours: fastestOf((messages) => windowMemory({ maxTokens: WINDOW_TOKENS }).context(messages, 2)),
      bar: 50,
    },
    {
      name: '10,000 messages: counted, shrunk and cut up for a summary',
      unit: 'ms',
      ours: fastestOf((messages) => {
        const counter = createTokenCounter();
        counter.ofMessages(messages);
        shrinkable(messages, 'line', 0, startOfRound(messages, 2));
        planCompaction(messages, { openingCount: 2, room: WINDOW_TOKENS, counter });
      }),
      bar: 50,
    },
  ];
}

function fastestOf(work: (messages: readonly Message[]) => unknown): number {
  const times = Array.from({ length: TIMES }, () => {
    const messages = history();
    const startedAt = performance.now();
    work(messages);
    return performance.now() - startedAt;
  });
  // What else a machine does makes a run longer, never shorter.
  return Math.min(...times);
}
