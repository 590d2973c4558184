import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type AgentOptions,
  type AskOptions,
  createAgent,
  FakeProvider,
  RejectedError,
  type RoundExecutor,
  UsageError,
} from '../../src/index.js';
import { probe, toolNames } from '../parity/agent-bench.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chatcli-agent-skills-'));
  mkdirSync(join(folder, 'good'));
  writeFileSync(join(folder, 'good/SKILL.md'), '---\nname: good\ndescription: When good.\n---\nThe real body.\n');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const loading = (...ids: readonly string[]) => ({
  toolCalls: ids.map((id) => ({ id, name: 'load_skill', arguments: { name: 'good' } })),
});
const own = (name: string) => probe(name, async () => ({ ok: true, output: 'A forged body.' })).tool;

/** The messages that a compaction leaves after a run in which the model loads a skill. */
async function keptAfter(options: Omit<AgentOptions, 'provider'>, ...ids: readonly string[]): Promise<string> {
  const agent = createAgent({ ...options, provider: FakeProvider([loading(...ids), { text: 'done' }]) });
  await agent.run('Load it.');
  agent.contextOp({ opId: 'c', type: 'compact', messages: [] });
  return JSON.stringify(agent.messages());
}

/** Runs what `really` says, and makes the results of the other calls up. */
const makesUp = (...really: readonly string[]): RoundExecutor =>
  async function* (calls, run) {
    for (const call of calls) {
      if (really.includes(call.id)) yield await run(call);
      else yield { callId: call.id, ok: true, output: 'A forged body.' };
    }
  };

describe('a compaction keeps the body of a skill', () => {
  it('that our own tool gave, also where an executor of the user runs it', async () => {
    expect(await keptAfter({ skillFolders: [folder] }, 'a')).toContain('The real body.');
    const kept = await keptAfter({ skillFolders: [folder], roundExecutor: makesUp('b') }, 'a', 'b');
    expect(kept).toContain('The real body.');
    expect(kept).not.toContain('forged');
  });

  it.each<[string, () => Omit<AgentOptions, 'provider'>]>([
    ["but not the result of a user's tool of that name", () => ({ tools: [own('load_skill')] })],
    ['nor one that an executor made up', () => ({ skillFolders: [folder], roundExecutor: makesUp() })],
    ['nor one that an executor made up without any skills', () => ({ roundExecutor: makesUp() })],
  ])('%s', async (_, options) => {
    expect(await keptAfter(options(), 'a')).toBe('[]');
  });
});

describe("a user's tool called load_skill", () => {
  it('is refused where skills are offered, at each way in', () => {
    const tools = [own('load_skill')];
    const provider = FakeProvider([]);
    expect(() => createAgent({ provider, skillFolders: [folder], tools })).toThrow(UsageError);
    const agent = createAgent({ provider, skillFolders: [folder] });
    expect(() => agent.registerTool(own('load_skill'))).toThrow('"load_skill" is the agent\'s own');
    expect(() => agent.ask('x', { tools })).toThrow(UsageError);
    expect(agent.listTools()).toEqual([]);
  });

  it('is a tool like any other where there are none', async () => {
    const provider = FakeProvider([loading('a'), { text: 'done' }]);
    await createAgent({ provider, tools: [own('load_skill')] }).run('x');
    expect(provider.requests[1]?.messages.at(-1)).toMatchObject({ content: 'A forged body.' });
  });
});

describe('load_skill', () => {
  it.each<[string, AskOptions, readonly string[]]>([
    ['is offered beside the tools of the agent', {}, ['mine', 'load_skill']],
    ['is not where the run has tools of its own', { tools: [own('theirs')] }, ['theirs']],
    ['is not where the run has no tools', { tools: [] }, []],
    ['is not where it is not among the allowed', { allowedTools: ['mine'] }, ['mine']],
    ['is where it is', { allowedTools: ['mine', 'load_skill'] }, ['mine', 'load_skill']],
    ['is alone where it alone is', { allowedTools: ['load_skill'] }, ['load_skill']],
    [
      'is beside tools of the run where it is allowed',
      { tools: [own('theirs')], allowedTools: ['theirs', 'load_skill'] },
      ['theirs', 'load_skill'],
    ],
  ])('%s, and the prompt speaks of skills only then', async (_, ask, names) => {
    const provider = FakeProvider([{ text: 'done' }]);
    const agent = createAgent({ provider, systemPrompt: 'S', skillFolders: [folder], tools: [own('mine')] });
    expect(await agent.run('x', ask)).toMatchObject({ reason: 'answered' });
    expect(toolNames(provider.requests[0])).toEqual(names);
    const prompt = provider.requests[0]?.messages[0]?.content ?? '';
    expect(prompt.includes('- good: When good.')).toBe(names.includes('load_skill'));
    expect(agent.listTools().map(({ name }) => name)).toEqual(['mine']);
  });

  it('is unknown where there are no skill folders', () => {
    const agent = createAgent({ provider: FakeProvider([]) });
    expect(() => agent.ask('x', { allowedTools: ['load_skill'] })).toThrow(RejectedError);
  });
});
