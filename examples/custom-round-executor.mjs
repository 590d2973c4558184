/**
 * Shows an executor of your own for rounds of tool calls: it decides on order, on how many run at once, and what does not
 * run at all. Policy, events and results in call order stay with the agent.
 *
 * The model is a script, so this runs without key or network. For a real one, in place of FakeProvider:
 *   openaiChat({ name: 'openai', baseUrl: 'https://api.openai.com/v1', apiKey: process.env.OPENAI_API_KEY })
 * and beside it the model's name: createAgent({ provider, model: '…', tools, roundExecutor }).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createAgent, defineTool, FakeProvider } from 'chatcli';
import * as z from 'zod';

let running = 0;

const measure = defineTool({
  name: 'measure',
  doc: 'Measures one station.',
  permission: 'read',
  concurrency: 'parallel',
  schema: z.object({ station: z.string() }),
  subjects: () => [],
  async run({ station }) {
    running += 1;
    console.log(`measuring ${station}, ${running} at once`);
    await sleep(20);
    running -= 1;
    return { ok: true, output: `${station}: 21 °C` };
  },
});

/** One after the other, the last first, and never more than two in a round. */
async function* careful(calls, run, signal) {
  for (const [index, call] of [...calls].reverse().entries()) {
    if (signal.aborted) return;
    if (index < 2) yield await run(call);
    // A result without `run`: the tool is not touched, and the model reads why.
    else yield { callId: call.id, ok: false, code: 'too-many', output: 'Not run: two stations in a round. Ask again.' };
  }
}

const stations = ['north', 'east', 'south'].map((station) => ({ name: 'measure', arguments: { station } }));
const provider = FakeProvider([{ toolCalls: stations }, { text: 'East and south have 21 °C; north is open.' }]);
const agent = createAgent({ provider, tools: [measure], roundExecutor: careful });

const outcome = await agent.run('How warm is it?');
console.log('the model read, in the order of its calls:');
for (const message of provider.requests[1].messages) if (message.role === 'tool') console.log(`  ${message.content}`);
console.log(outcome.answer);
