import { describe, expect, it } from 'vitest';
import { type AgentOptions, parseEvent, type Tool } from '../../src/index.js';
import type { Subject } from '../../src/permissions/types.js';
import { calls, disorder, says } from '../fixtures/bench.js';
import { type AgentBenchOptions, agentOver, ofType, probe } from '../parity/agent-bench.js';

const WRITE = { permission: 'write' } as const;

/** Two calls of a tool in two turns, and how often it was asked for and run. */
async function asked(tool: { tool: Tool; ran: string[] }, answer: unknown, options: AgentBenchOptions = {}) {
  let times = 0;
  const { name } = tool.tool;
  const bench = agentOver([calls(['c1', name, { text: '1' }]), calls(['c2', name, { text: '2' }]), says('Done.')], {
    tools: [tool.tool],
    approve: (async () => {
      times += 1;
      return answer;
    }) as NonNullable<AgentOptions['approve']>,
    ...options,
  });
  const outcome = await bench.agent.run('Go.');
  expect(disorder(bench.events)).toEqual([]);
  for (const event of bench.events) parseEvent(event);
  return { ...bench, outcome, times, ran: tool.ran };
}

describe('an approve function', () => {
  it.each([
    ['once', 2],
    ['session', 1],
  ])('that answers %j lets the calls run', async (answer, times) => {
    expect(await asked(probe('t', undefined, WRITE), answer)).toMatchObject({ times, ran: ['1', '2'] });
  });

  it.each([['no'], [false], [true], [undefined], [null], ['deny'], ['yes'], ['ONCE'], [{}], [1]])(
    'that answers %j refuses them',
    async (answer) => {
      const run = await asked(probe('t', undefined, WRITE), answer);
      expect(run).toMatchObject({ times: 2, ran: [], outcome: { reason: 'denied' } });
      expect(ofType(run.events, 'approval-response').map((event) => event.answer)).toEqual(['no', 'no']);
    },
  );

  it.each([
    ['rejects', async () => Promise.reject(new Error('ui gone'))],
    [
      'throws',
      () => {
        throw new Error('ui gone');
      },
    ],
  ])('that %s lets none run', async (_, approve) => {
    const run = await asked(probe('t', undefined, WRITE), 'once', { approve });
    expect(run.ran).toEqual([]);
    expect(ofType(run.events, 'approval-response').map(({ answer }) => answer)).toEqual(['no', 'no']);
  });
});

describe('an answer for the session', () => {
  it.each([['my_tool'], ['write_file'], ['edit'], ['Task'], ['shell'], ['read']])(
    'is for the very tool that was asked for: %s',
    async (name) => {
      const other = probe('edit_file', undefined, WRITE);
      const tool = probe(name, undefined, WRITE);
      const { agent, times, ran } = await asked(tool, 'session');
      expect([times, ran]).toEqual([1, ['1', '2']]);
      let again = 0;
      // The next run has another tool, which a rule of that name would cover if a person had written it.
      const next = agentOver([calls(['c1', name, {}]), calls(['c2', 'edit_file', {}]), says('Done.')], {
        tools: [tool.tool, other.tool],
        approve: async () => (again++ === 0 ? 'session' : 'no'),
      });
      await next.agent.run('Go.');
      expect(other.ran).toEqual([]);
      agent.cancel();
    },
  );

  it.each<[string, readonly Subject[], readonly Subject[], number]>([
    [
      'the same command',
      [{ kind: 'command', command: 'go', cwd: '.' }],
      [{ kind: 'command', command: 'go', cwd: '.' }],
      1,
    ],
    [
      'another command',
      [{ kind: 'command', command: 'go', cwd: '.' }],
      [{ kind: 'command', command: 'no', cwd: '.' }],
      2,
    ],
    ['a tool whose calls have no subject', [], [], 1],
  ])('of a tool that executes counts for the very command: %s', async (_, first, second, times) => {
    const subjects = ({ text = '' }: { text?: string }) => (text === '1' ? first : second);
    const tool = probe('deploy', undefined, { permission: 'execute', subjects: subjects as Tool['subjects'] });
    expect(await asked(tool, 'session')).toMatchObject({ times, ran: ['1', '2'] });
  });
});

describe('what would allow a refused call is told in the words of the library', () => {
  const CLI = /--[a-z]|CHATCLI_/;
  it.each([
    ['write', {}, "approvalMode 'auto-edit'"],
    ['network', {}, "approvalMode 'full-auto'"],
    ['execute', { approvalMode: 'read-only' }, "approvalMode 'full-auto'"],
  ] as const)('%s, %j', async (permission, options, words) => {
    const { agent } = agentOver([calls(['c1', 't', {}]), says('Done.')], {
      tools: [probe('t', undefined, { permission }).tool],
      ...options,
    });
    const { error } = await agent.run('Go.');
    expect(error?.hint).toContain('`approve`');
    expect(error?.hint).toContain(words);
    expect(error?.hint).not.toMatch(CLI);
  });

  it('what is asked for in every mode, with nobody to ask', async () => {
    const subjects = (): readonly Subject[] => [{ kind: 'path', path: '.env' }];
    const { agent } = agentOver([calls(['c1', 't', {}]), says('Done.')], {
      tools: [probe('t', undefined, { permission: 'write', subjects }).tool],
      approvalMode: 'full-auto',
    });
    expect((await agent.run('Go.')).error?.hint).toMatch(/Only an `approve` function/);
  });

  it('a turn limit', async () => {
    const { agent } = agentOver([calls(['c1', 't', {}]), says('So far.')], {
      tools: [probe('t').tool],
      limits: { maxTurns: 1 },
    });
    expect((await agent.run('Go.')).error).toMatchObject({
      kind: 'turn-limit',
      hint: 'More: limits.maxTurns of createAgent.',
    });
  });
});
