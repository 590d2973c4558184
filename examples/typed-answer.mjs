/**
 * Shows an answer with a form: a zod schema binds it, the model is told what is wrong and asked again, and what comes
 * back is a value and no text.
 *
 * The model is a script, so this runs without key or network. For a real one, in place of FakeProvider:
 *   openaiChat({ name: 'openai', baseUrl: 'https://api.openai.com/v1', apiKey: process.env.OPENAI_API_KEY })
 * and beside it the model's name: createAgent({ provider, model: '…' }).
 */
import { createAgent, FakeProvider, OutputRetriesExhausted } from 'chatcli';
import * as z from 'zod';

const Review = z.object({ verdict: z.enum(['accept', 'reject']), problems: z.array(z.string()) });

const provider = FakeProvider([
  // The first run: an answer that does not fit, then one that does.
  { text: '{"verdict": "maybe", "problems": []}' },
  { text: '{"verdict": "reject", "problems": ["total() skips the first item"]}' },
  // The second run: never JSON, and only one more try is allowed.
  { text: 'I would reject it.' },
  { text: 'As I said: reject.' },
]);

const agent = createAgent({
  provider,
  limits: { maxOutputRetries: 1 },
  onEvent: (event) => {
    if (event.type !== 'output-check') return;
    console.log(`answer ${event.attempt}: ${event.status}`);
    if (event.feedback) console.log(event.feedback.replace(/^/gm, '  | '));
  },
});

const review = await agent.runTyped(Review, 'Review the change.');
console.log(`${review.verdict}: ${review.problems.join(', ')}\n`);

try {
  await agent.runTyped(Review, 'Review the other change.');
} catch (error) {
  if (!(error instanceof OutputRetriesExhausted)) throw error;
  console.log(`no review, asked again ${error.retries} time`);
}
