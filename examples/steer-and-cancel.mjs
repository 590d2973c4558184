/**
 * Shows how to reach a run from outside: a word to the model while it works, a cancel, and that the conversation goes on.
 *
 * The model is a script, so this runs without key or network. For a real one, in place of FakeProvider:
 *   openaiChat({ name: 'openai', baseUrl: 'https://api.openai.com/v1', apiKey: process.env.OPENAI_API_KEY })
 * and beside it the model's name: createAgent({ provider, model: '…', tools }).
 */
import { createAgent, defineTool, FakeProvider } from 'chatcli';
import * as z from 'zod';

const search = defineTool({
  name: 'search',
  doc: 'Searches the code.',
  permission: 'read',
  concurrency: 'parallel',
  schema: z.object({ text: z.string() }),
  subjects: () => [],
  run: async ({ text }) => ({ ok: true, output: `${text}: 3 places` }),
});

const provider = FakeProvider([
  { toolCalls: [{ id: 'c1', name: 'search', arguments: { text: 'login' } }] },
  { text: 'Three places, and only src/ counted.' },
  { text: 'This will take a while.', delayMs: 60_000 },
  { text: 'I had not answered yet; ask me again.' },
]);
const agent = createAgent({ provider, tools: [search] });

console.log('steer when idle:', agent.steer('Hurry up.'));

const first = agent.ask('Where is login used?');
for await (const event of first.events) {
  // It is taken in before the next model call, behind the results of the tools.
  if (event.type === 'tool-start') console.log('steer in a run: ', agent.steer('Only in src/.').ok);
  if (event.type === 'input') console.log(`${event.kind} ${event.status}: ${event.text}`);
}
console.log(`1: ${(await first.result).answer}`);
show('the model read', provider.requests[1].messages);

const second = agent.ask('And logout?');
for await (const event of second.events) {
  if (event.type === 'turn-start') agent.cancel({ runId: second.id, reason: 'lunch' });
}
const { reason, error } = await second.result;
console.log(`2: ${reason} (${error?.message})`);

const third = await agent.run('What about logout?');
console.log(`3: ${third.answer}`);
show('the conversation now ends with', agent.messages().slice(-4));

function show(title, messages) {
  console.log(`   ${title}:`);
  for (const { role, content, toolCalls } of messages) {
    if (role !== 'system') console.log(`     ${role.padEnd(9)} ${content || `calls ${toolCalls[0].name}`}`);
  }
}
