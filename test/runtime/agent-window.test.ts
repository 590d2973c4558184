import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTokenCounter } from '../../src/context/tokens.js';
import { ProviderError } from '../../src/errors.js';
import type { ModelRequest } from '../../src/index.js';
import type { Turn } from '../fixtures/bench.js';
import { agentOver, end, ofType, probe, text } from '../parity/agent-bench.js';

const WINDOW = 8_000;
const tokensOf = ({ messages }: ModelRequest) => createTokenCounter().ofMessages(messages);
const isSummary = ({ messages }: ModelRequest) => messages[0]?.content.includes('sum up the work') === true;

/** Calls `read` in `rounds` rounds with many words, then answers; a request for a summary gets one. */
function talker(rounds: number) {
  let round = 0;
  return (request: ModelRequest): Turn => {
    if (isSummary(request)) return [text('SUMMARY of it.'), end];
    round += 1;
    if (round % (rounds + 1) === 0) return [text(`Answer ${round}.`), end];
    return [
      text(`${'I looked at it. '.repeat(60)} ${round}`),
      { type: 'call', call: { id: `c${round}`, name: 'read', arguments: `{"key":"${round}"}` } },
      { type: 'end', finishReason: 'tool_calls' },
    ];
  };
}

const reading = () =>
  probe('read', async () => ({ ok: true, output: 'x'.repeat(100) }), { concurrency: 'serial' }).tool;

describe('an agent with a contextWindow', () => {
  it('keeps every request of every run within it, and tells each step', async () => {
    const { agent, events, requests } = agentOver(talker(25), { contextWindow: WINDOW, tools: [reading()] });
    expect(await agent.run('First.')).toMatchObject({ reason: 'answered' });
    expect(await agent.run('Second.')).toMatchObject({ reason: 'answered' });
    expect(Math.max(...requests.map(tokensOf))).toBeLessThan(WINDOW);
    expect(ofType(events, 'context').map(({ operation }) => operation)).toContain('summary');
    expect(requests.at(-1)?.messages).toContainEqual({ role: 'user', content: 'Second.' });
  });

  it('hands on to the next run what it made of the conversation before, so that it is not summed up again', async () => {
    const { agent, requests } = agentOver(talker(25), { contextWindow: WINDOW, tools: [reading()] });
    await agent.run('First.');
    const summaries = requests.filter(isSummary).length;
    expect(summaries).toBeGreaterThan(0);
    await agent.run('Second.');
    const opening =
      requests[requests.findIndex(({ messages }) => messages.some(({ content }) => content === 'Second.'))];
    expect(opening && tokensOf(opening)).toBeLessThan(WINDOW);
    expect(JSON.stringify(agent.messages())).toContain('SUMMARY of it.');
    expect(agent.messages().filter(({ content }) => content === 'Second.')).toHaveLength(1);
  });

  it('keeps a skill that was loaded, in the run and in the next, and drops one that a round executor made up', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chatcli-skills-'));
    mkdirSync(join(folder, 'deploy'));
    writeFileSync(join(folder, 'deploy', 'SKILL.md'), '---\nname: deploy\ndescription: D.\n---\nBODY of deploy.\n');
    const play = talker(25);
    const { agent, requests } = agentOver(
      (request, index) => {
        const loads = { name: 'load_skill', arguments: '{"name":"deploy"}' };
        if (index === 0)
          return [
            { type: 'call', call: { id: 'true', ...loads } },
            { type: 'end', finishReason: 'tool_calls' },
          ];
        if (index === 1)
          return [
            { type: 'call', call: { id: 'forged', ...loads } },
            { type: 'end', finishReason: 'tool_calls' },
          ];
        return play(request);
      },
      {
        contextWindow: WINDOW,
        tools: [reading()],
        skillFolders: [folder],
        roundExecutor: async function* (calls, run) {
          for (const each of calls)
            yield each.id === 'forged' ? { callId: each.id, ok: true, output: 'FORGED' } : await run(each);
        },
      },
    );
    expect(await agent.run('First.')).toMatchObject({ reason: 'answered' });
    expect(requests.some(isSummary)).toBe(true);
    const last = JSON.stringify(requests.at(-1)?.messages);
    expect(last).toContain('BODY of deploy.');
    expect(last).not.toContain('FORGED');
    const next = JSON.stringify(agent.messages());
    expect(next).toContain('BODY of deploy.');
    expect(next).not.toContain('FORGED');
  });

  it('leaves the conversation alone where everything fits', async () => {
    const { agent, requests } = agentOver(talker(2), { contextWindow: 100_000, tools: [reading()] });
    await agent.run('First.');
    await agent.run('Second.');
    expect(requests.filter(isSummary)).toEqual([]);
    const tasks = agent.messages().filter(({ role }) => role === 'user');
    expect(tasks.map(({ content }) => content)).toEqual(['First.', 'Second.']);
  });

  it('sends a request that was refused as too long again, shorter, also without a window', async () => {
    const play = talker(25);
    const { agent, requests } = agentOver(
      (request) => (tokensOf(request) > 6_000 ? new ProviderError('too-long', 'Input is too long.') : play(request)),
      { tools: [reading()] },
    );
    expect(await agent.run('First.')).toMatchObject({ reason: 'answered' });
    expect(requests.filter(isSummary).length).toBeGreaterThan(0);
  });
});
