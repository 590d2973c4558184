/**
 * Shows the smallest agent: one question, its answer as it arrives, and how the run ended.
 *
 * The model is a script, so this runs without key or network. For a real one, in place of FakeProvider:
 *   openaiChat({ name: 'openai', baseUrl: 'https://api.openai.com/v1', apiKey: process.env.OPENAI_API_KEY })
 * and beside it the model's name: createAgent({ provider, model: '…' }).
 */
import { createAgent, FakeProvider } from 'chatcli';

const provider = FakeProvider([
  { text: 'Hello! Ask me about your code.', usage: { promptTokens: 12, completionTokens: 8 } },
]);
const agent = createAgent({ provider, systemPrompt: 'You answer in one short sentence.' });

for await (const chunk of agent.stream('Who are you?')) {
  if (chunk.type === 'text') process.stdout.write(chunk.text);
  if (chunk.type === 'error') process.stdout.write(`It failed: ${chunk.error.message}`);
  if (chunk.type === 'done') {
    const { reason, turns, usage } = chunk.outcome;
    console.log(`\n(${reason} after ${turns} turn, ${usage.totalTokens} tokens)`);
  }
}
