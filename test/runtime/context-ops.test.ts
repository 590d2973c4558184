import { describe, expect, it } from 'vitest';
import { type ContextOp, type Message, UsageError } from '../../src/index.js';
import { agentOver, behind, collect, end, gate, ofType, text, told } from '../parity/agent-bench.js';

const answers = (count: number) => Array.from({ length: count }, (_, index) => [text(`A${index + 1}`), end]);
const user = (content: string): Message => ({ role: 'user', content });
/** What code without types may give. */
const asOp = (op: object) => op as ContextOp;
const replaceBy = (messages: unknown) => asOp({ opId: 'o', type: 'replace', messages });

const BAD: readonly (readonly [string, ContextOp, string])[] = [
  ['an unknown type', asOp({ opId: 'o', type: 'compaction', messages: [] }), 'type: '],
  ['no id', asOp({ type: 'replace', messages: [] }), 'opId: must be a text'],
  ['a blank id', asOp({ opId: ' ', type: 'switch' }), 'opId: is empty'],
  ['a number for a lane', asOp({ opId: 'o', type: 'switch', lane: 7 }), 'lane: must be a text'],
  ['a number for a prompt', asOp({ opId: 'o', type: 'replace', systemPrompt: 7 }), 'systemPrompt: '],
  ['a field that is misspelt', asOp({ opId: 'o', type: 'replace', mesages: [] }), 'mesages'],
  ['a text for messages', replaceBy('zzz'), 'messages: '],
  ['nothing for a message', replaceBy([user('fine'), null]), 'messages.1: '],
  ['a message without content', replaceBy([{ role: 'user' }]), 'messages.0.content: '],
  ['a message of an unknown role', replaceBy([{ role: 'wizard', content: 'x' }]), 'messages.0.role: '],
  ['content in parts', replaceBy([{ role: 'user', content: [{ type: 'text', text: 'x' }] }]), 'messages.0.content: '],
  ['calls that are no list', replaceBy([{ role: 'assistant', content: '', toolCalls: 'x' }]), 'messages.0.toolCalls: '],
];

describe('a context operation with', () => {
  it.each(BAD)('%s is refused when it is asked for, and nothing of it stays', async (_, op, place) => {
    const { agent, events } = agentOver(answers(3));
    await agent.run('Q1');
    const before = agent.messages();
    expect(() => agent.contextOp(op)).toThrow(UsageError);
    expect(() => agent.contextOp(op)).toThrow(place);

    const handle = agent.ask('Q2');
    expect(() => agent.contextOp(op)).toThrow(place);
    await expect(handle.result).resolves.toMatchObject({ reason: 'answered' });

    expect(ofType(events, 'context')).toEqual([]);
    expect(agent.messages().slice(0, 2)).toEqual(before);
    expect(await agent.run('Q3')).toMatchObject({ reason: 'answered', answer: 'A3' });
  });

  it('many faults is told of the first five', () => {
    const { agent } = agentOver([]);
    expect(() => agent.contextOp(replaceBy([1, 2, 3, 4, 5, 6, 7]))).toThrow('and 2 more');
  });

  it('a fault does not use up its id, nor keep the other operations of the run from being applied', async () => {
    const { agent } = agentOver(answers(1));
    const handle = agent.ask('Q1');
    expect(() => agent.contextOp(replaceBy([null]))).toThrow(UsageError);
    expect(agent.contextOp({ opId: 'o', type: 'replace', messages: [user('R')] })).toBe(true);
    expect(agent.contextOp({ opId: 'p', type: 'switch', lane: 'b' })).toBe(true);
    await handle.result;
    expect(agent.messages()).toEqual([]);
    agent.contextOp({ opId: 'q', type: 'switch' });
    expect(told(agent.messages())).toEqual(['user: R', 'user: Q1', 'assistant: A1']);
  });
});

describe('a context operation that a reader of the events asks for', () => {
  it('while others are applied comes behind them, before the run is over', async () => {
    const { agent, events } = agentOver(answers(2), {
      onEvent: (event) => {
        if (event.type !== 'context' || !('operationId' in event) || event.operationId !== 'a') return;
        agent.contextOp({ opId: 'c', type: 'replace', messages: [user('C')] });
      },
    });
    const handle = agent.ask('Q1');
    agent.contextOp({ opId: 'a', type: 'replace', messages: [user('A')] });
    agent.contextOp({ opId: 'b', type: 'replace', messages: [user('B')] });
    await handle.result;
    expect(ofType(events, 'context')).toMatchObject([{ operationId: 'a' }, { operationId: 'b' }, { operationId: 'c' }]);
    expect(told(agent.messages())).toEqual(['user: C']);
  });

  it('at the last event of a run is applied before the next one, whenever the reader gets to it', async () => {
    const { opening, open } = gate();
    const { agent } = agentOver([behind(opening, [text('A1'), end]), [text('A2'), end]]);
    const handle = agent.ask('Q1');
    const reading = (async () => {
      for await (const event of handle.events) {
        if (event.type === 'worker-end') agent.contextOp({ opId: 'o', type: 'switch', lane: 'b' });
      }
    })();
    open();
    await Promise.all([handle.result, reading]);
    expect(agent.messages()).toEqual([]);
  });

  it('at each one without end is left at a thousand, and the run ends', async () => {
    let count = 0;
    const { agent, events } = agentOver(answers(1), {
      onEvent: (event) => {
        if (event.type !== 'context') return;
        count += 1;
        if (count < 1_500) agent.contextOp({ opId: `o${count}`, type: 'switch' });
      },
    });
    const handle = agent.ask('Q1');
    agent.contextOp({ opId: 'o', type: 'switch' });
    await collect(handle.events);
    await handle.result;
    expect(ofType(events, 'context')).toHaveLength(1_000);
  });
});
