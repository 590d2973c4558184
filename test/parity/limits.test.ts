/** What keeps a run within bounds: turns, repetition, output, permissions, and an outer loop. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createAgent, FakeProvider, kernel, type Script } from '../../src/index.js';
import { calls, disorder, says } from '../fixtures/bench.js';
import { agentOver, faultsOf, gate, ofType, probe, until } from './agent-bench.js';

afterEach(() => vi.unstubAllEnvs());

describe('limits', () => {
  /** A model that looks around for ever, differently each time, and sums up where it can not. */
  const endless: Script = Array.from({ length: 4 }, (_, index) => ({
    toolCalls: [{ id: `c${index}`, name: 'look', arguments: { text: `${index}` } }],
  }));

  it('of turns let as many rounds run, then ask for a summary without tools, and are named at the end [row 48] [trap 9]', async () => {
    const tool = probe('look', async (place) => ({ ok: true, output: `at ${place}` }));
    const provider = FakeProvider([...endless.slice(0, 2), { text: 'Half is done.' }]);
    const agent = createAgent({ provider, tools: [tool.tool], limits: { maxTurns: 2 } });
    const outcome = await agent.run('Look.');
    expect(outcome).toMatchObject({ reason: 'turn-limit', answer: 'Half is done.', turns: 2 });
    expect(outcome.error?.message).toContain('2 turns');
    expect(provider.requests.map(({ tools }) => tools.length)).toEqual([1, 1, 0]);
    expect(tool.ran).toEqual(['0', '1']);
    expect(faultsOf(agent.messages())).toEqual([]);

    // The kernel by itself counts the same way.
    let step = kernel.start([{ role: 'user', content: 'Look.' }], { maxTurns: 2 });
    const asked: string[] = [];
    for (let index = 0; step.action.kind !== 'finish'; index += 1) {
      if (step.action.kind === 'reason') asked.push(step.action.purpose);
      const toolCalls = [{ id: `c${index}`, name: 'look', arguments: `${index}` }];
      step = kernel.observe(
        step.state,
        step.action.kind === 'reason'
          ? { kind: 'reply', text: '', toolCalls, finishReason: 'tool_calls', usage: kernel.NO_USAGE }
          : { kind: 'results', results: step.action.calls.map(({ id }) => ({ callId: id, ok: true, output: id })) },
      );
    }
    expect(asked).toEqual(['turn', 'turn', 'summary']);
  });

  it('of repetition tell the model at the third same result and end the run at the fifth [row 49]', async () => {
    const tool = probe('look');
    const { agent, requests, events } = agentOver((_, index) => calls([`c${index}`, 'look', { text: 'here' }]), {
      tools: [tool.tool],
    });
    const outcome = await agent.run('Look.');
    expect(outcome).toMatchObject({ reason: 'stuck', turns: 5, error: { kind: 'stuck' } });
    const noted = ({ messages }: (typeof requests)[number]) =>
      messages.filter(({ role, content }) => role === 'tool' && content !== 'look ran').length;
    expect(requests.map(noted)).toEqual([0, 0, 0, 1, 1]);
    expect(requests[3]?.messages.at(-1)?.content).toMatch(/^look ran\n.*third time/s);
    const notes = ofType(events, 'notice').filter(({ code }) => code === 'stuck-warning');
    expect(notes.map((note) => note.text)).toEqual([
      requests[3]?.messages.at(-1)?.content.slice('look ran'.length).trim(),
    ]);
    const [third, fourth] = ofType(events, 'tool-start').slice(2);
    expect(notes[0]?.seq).toBeGreaterThan(third?.seq ?? Number.NaN);
    expect(notes[0]?.seq).toBeLessThan(fourth?.seq ?? Number.NaN);
    expect(tool.ran).toHaveLength(5);
  });

  it('of repetition tell it also where the third same result is the last thing that a run had turns for [row 49]', async () => {
    const { agent, events, requests } = agentOver(
      (_, index) => (index < 3 ? calls([`c${index}`, 'look', { text: 'here' }]) : says('Half is done.')),
      { tools: [probe('look').tool], limits: { maxTurns: 3 } },
    );
    expect(await agent.run('Look.')).toMatchObject({ reason: 'turn-limit' });
    expect(requests[3]?.messages.at(-2)?.content).toContain('third time');
    expect(ofType(events, 'notice').map(({ code }) => code)).toEqual(['stuck-warning']);
  });

  it('of output cut behind the masking, at whole characters, and say what is left out [row 47]', async () => {
    const secret = 'sk-parity-0123456789abcdefghijklmnop';
    vi.stubEnv('OPENAI_API_KEY', secret);
    // The secret stands at all places, so that some cut would go through it.
    const tool = probe('read', async () => ({ ok: true, output: `ä${secret}€`.repeat(5_000) }));
    const { agent, events, requests } = agentOver([calls(['a', 'read', {}]), says('Done.')], { tools: [tool.tool] });
    await agent.run('Read.');
    const result = requests[1]?.messages.at(-1)?.content ?? '';
    // Not held against the text itself: a failure would print all of it.
    expect(Buffer.byteLength(result)).toBeLessThanOrEqual(65_536);
    expect(/\[… \d+ bytes .*left out; the whole of it is in .* …\]/.test(result)).toBe(true);
    expect(result.includes('\ufffd')).toBe(false);
    for (const shown of [result, JSON.stringify(events)]) {
      expect(shown.includes(secret.slice(0, 12))).toBe(false);
      expect(shown.includes(secret.slice(-12))).toBe(false);
    }
  });
});

describe('permissions', () => {
  const action = (permission: 'read' | 'write' | 'execute' | 'network' | 'meta') =>
    probe(`a_${permission}`, undefined, { permission, concurrency: 'serial' });

  it('let tools read, and with nobody to ask refuse the rest as results, without waiting [row 46]', async () => {
    const all = (['read', 'meta', 'write', 'execute', 'network'] as const).map(action);
    const { agent, events, requests } = agentOver(
      [calls(...all.map(({ tool }, index) => [`c${index}`, tool.name, {}] as const)), says('I could not.')],
      { tools: all.map(({ tool }) => tool) },
    );
    expect(await agent.run('Do it all.')).toMatchObject({ reason: 'denied', error: { kind: 'denied' } });
    expect(ofType(events, 'tool-end').map(({ name, ok, denied = false }) => [name, ok, denied])).toEqual([
      ['a_read', true, false],
      ['a_meta', true, false],
      ['a_write', false, true],
      ['a_execute', false, true],
      ['a_network', false, true],
    ]);
    expect(all.map(({ ran }) => ran.length)).toEqual([1, 1, 0, 0, 0]);
    expect(ofType(events, 'approval-request')).toEqual([]);
    expect(requests[1]?.messages.at(-1)?.content).toMatch(/^Denied/);
  });

  it('are asked for one action at a time, and an answer for the session holds for the same command [row 46]', async () => {
    const commands: string[] = [];
    const shell = probe(
      'shell',
      async (command) => {
        commands.push(command);
        return { ok: true, output: `${command} ran ${commands.length}` };
      },
      {
        permission: 'execute',
        concurrency: 'serial',
        subjects: (input) => [{ kind: 'command', command: (input as { text: string }).text, cwd: '.' }],
      },
    );
    const asked: string[] = [];
    const { agent, events } = agentOver(
      [
        calls(
          ['a', 'shell', { text: 'make it' }],
          ['b', 'shell', { text: 'make it' }],
          ['c', 'shell', { text: 'make b' }],
        ),
        says('Done.'),
      ],
      {
        tools: [shell.tool],
        approve: async ({ subject }) => {
          asked.push(subject);
          return subject.includes('make b') ? 'no' : 'session';
        },
      },
    );
    await agent.run('Make it.');
    expect(asked).toEqual(['make it', 'make b']);
    expect(commands).toEqual(['make it', 'make it']);
    expect(ofType(events, 'approval-response').map(({ answer }) => answer)).toEqual(['session', 'no']);
    expect(disorder(events)).toEqual([]);
  });

  it('that nobody answers end with the run that asks for them [row 46]', async () => {
    const write = action('write');
    const { agent, events } = agentOver([calls(['a', 'a_write', {}]), says('never')], {
      tools: [write.tool],
      approve: (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const { result } = agent.ask('Write.');
    await until('it is asked', () => ofType(events, 'approval-request').length === 1);
    agent.cancel();
    expect(await result).toMatchObject({ reason: 'interrupted' });
    expect(write.ran).toEqual([]);
    expect(disorder(events)).toEqual([]);
  });
});

describe('an outer loop', () => {
  it('with room for two runs three actions two at a time, and their results keep the order [row 45]', async () => {
    const seen = { now: 0, most: 0 };
    const gates = [gate(), gate(), gate()];
    const tool = probe('act', async (number) => {
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      await gates[Number(number)]?.opening;
      seen.now -= 1;
      return { ok: true, output: number };
    });
    const { agent, requests } = agentOver(
      [calls(['a', 'act', { text: '0' }], ['b', 'act', { text: '1' }], ['c', 'act', { text: '2' }]), says('Done.')],
      {
        tools: [tool.tool],
        roundExecutor: async function* (all, run) {
          const [first, second, third] = all.map((call) => () => run(call));
          const begun = [first!(), second!()];
          yield await Promise.race(begun);
          yield await third!();
          yield* await Promise.all(begun);
        },
      },
    );
    const { result } = agent.ask('Act.');
    await until('two are at work', () => seen.now === 2);
    expect(tool.ran).toEqual(['0', '1']);
    gates[1]?.open();
    await until('the third is at work', () => tool.ran.length === 3);
    gates[2]?.open();
    gates[0]?.open();
    await result;
    expect(seen.most).toBe(2);
    expect(requests[1]?.messages.slice(-3).map(({ content }) => content)).toEqual(['0', '1', '2']);
  });
});
