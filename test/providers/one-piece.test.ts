import { afterEach, describe, expect, it } from 'vitest';
import { createAgent } from '../../src/index.js';
import { openaiChat } from '../../src/providers/openai-chat.js';
import { type ModelServer, startModelServer } from '../fixtures/model-server.js';

let server: ModelServer | undefined;
afterEach(() => server?.close());

const BODY = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Whole.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};

describe('an agent that does not stream', () => {
  it('asks for one piece, with its own headers, and tells the same events', async () => {
    const running = await startModelServer([{ status: 200, body: BODY }]);
    server = running;
    const provider = openaiChat({ name: 'mine', baseUrl: running.url, apiKey: 'k' });
    const types: string[] = [];
    const agent = createAgent({
      provider,
      model: 'm',
      stream: false,
      httpOptions: { headers: { 'x-team': 'blue' } },
      onEvent: (event) => types.push(event.type),
    });

    const outcome = await agent.run('hello');
    provider.close();

    expect(outcome).toMatchObject({ reason: 'answered', answer: 'Whole.', usage: { totalTokens: 5 } });
    expect(running.requests[0]?.body.stream).toBe(false);
    expect(running.requests[0]?.body).not.toHaveProperty('stream_options');
    expect(running.requests[0]?.headers['x-team']).toBe('blue');
    expect(types).toContain('text-delta');
  });
});
