/**
 * Shows a tool of your own: what the model is offered, what the tool gets, and what it gives back.
 *
 * The model is a script, so this runs without key or network. For a real one, in place of FakeProvider:
 *   openaiChat({ name: 'openai', baseUrl: 'https://api.openai.com/v1', apiKey: process.env.OPENAI_API_KEY })
 * and beside it the model's name: createAgent({ provider, model: '…', tools }).
 */
import { createAgent, defineTool, FakeProvider } from 'chatcli';
import * as z from 'zod';

const STOCK = { apples: 12, pears: 0 };

const stock = defineTool({
  name: 'stock',
  doc: 'How many of an article are left. Use the plural, e.g. "apples".',
  // What it can do to the world. `write`, `execute` and `network` are refused unless `approve` or `approvalMode` let them pass.
  permission: 'read',
  // `parallel` calls may run side by side.
  concurrency: 'parallel',
  schema: z.object({ article: z.string() }),
  // Paths, commands or URLs the call is about, for the policy; here none.
  subjects: () => [],
  async run({ article }, { values }) {
    const left = STOCK[article];
    // A failure is a result too: it says what to try next, and the run goes on.
    if (left === undefined) {
      return {
        ok: false,
        code: 'no-article',
        output: `No article "${article}". Try: ${Object.keys(STOCK).join(', ')}.`,
      };
    }
    return { ok: true, output: `${left} ${article} in ${values.shop}` };
  },
});

const provider = FakeProvider([
  { toolCalls: [{ name: 'stock', arguments: { article: 'plums' } }] },
  {
    toolCalls: [
      { name: 'stock', arguments: { article: 'apples' } },
      { name: 'stock', arguments: { article: 'pears' } },
    ],
  },
  { text: 'There are 12 apples; pears are sold out.' },
]);

const agent = createAgent({ provider, tools: [stock], toolContext: { shop: 'Lisbon' } });

for await (const chunk of agent.stream('What fruit is left?')) {
  if (chunk.type === 'tool-call') console.log(`call    ${chunk.call.name} ${chunk.call.arguments}`);
  if (chunk.type === 'tool-result') console.log(`${chunk.ok ? 'result ' : 'failure'} ${chunk.output}`);
  if (chunk.type === 'done') console.log(`answer  ${chunk.outcome.answer}`);
}
