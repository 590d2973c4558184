import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { windowMemory } from '../../src/context/memory.js';
import { UsageError } from '../../src/errors.js';
import { repair } from '../../src/kernel/transcript.js';
import type { Message, OutcomeReason } from '../../src/kernel/types.js';
import { type ContextEvent, type ContextOp, type Conversation, createConversation } from '../../src/runtime/lanes.js';

const user = (content: string): Message => ({ role: 'user', content });
const says = (content: string): Message => ({ role: 'assistant', content });
const call = (id: string, name: string, args = '{}'): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name, arguments: args }],
});
const result = (callId: string, name: string, content: string): Message => ({ role: 'tool', callId, name, content });
const skill = (id: string, name: string, body: string): readonly [Message, Message] => [
  call(id, 'load_skill', JSON.stringify({ name })),
  result(id, 'load_skill', body),
];

const talk = (conversation: Conversation, ...runs: readonly string[]) => {
  for (const name of runs) conversation.record(name, [user(`Q${name}`), says(`A${name}`)], 'answered');
};
const said = (conversation: Conversation) => conversation.messages().map((message) => message.content);

describe('the conversation', () => {
  it('begins empty, in the lane default', () => {
    const conversation = createConversation({ systemPrompt: 'You work.' });
    expect(conversation.messages()).toEqual([]);
    expect(conversation.lane()).toBe('default');
    expect(conversation.systemPrompt()).toBe('You work.');
    expect(conversation.log()).toEqual([]);
  });

  it('gives the messages of its runs, without system messages', () => {
    const conversation = createConversation();
    conversation.record('1', [{ role: 'system', content: 's' }, user('Q1'), says('A1')], 'answered');
    talk(conversation, '2');
    expect(said(conversation)).toEqual(['Q1', 'A1', 'Q2', 'A2']);
  });

  it('is not changed through what it took or gave', () => {
    const conversation = createConversation();
    const given = [user('Q'), call('c', 'read_file'), result('c', 'read_file', 'x')];
    conversation.record('1', given, 'answered');
    (given[0] as { content: string }).content = 'changed';
    (conversation.messages() as Message[]).pop();
    (conversation.log() as unknown[]).pop();
    expect(() => {
      (conversation.messages()[0] as { content: string }).content = 'changed';
    }).toThrow(TypeError);
    expect(said(conversation)).toEqual(['Q', '', 'x']);
    expect(conversation.log()).toHaveLength(1);
  });

  it('is not changed through any part of a message', () => {
    const conversation = createConversation();
    const replay = { origin: 'p:api', items: [{ parts: [{ sealed: 'x' }] }] };
    conversation.record('1', [user('Q'), { role: 'assistant', content: 'A', replay }], 'answered');
    const part = (): { sealed: string } =>
      (conversation.messages()[1] as unknown as { replay: typeof replay }).replay.items[0]?.parts[0] ?? { sealed: '' };
    expect(() => {
      part().sealed = 'changed';
    }).toThrow(TypeError);
    expect(part()).toEqual({ sealed: 'x' });
  });

  it.each<[string, OutcomeReason, string]>([
    ['a cancelled run', 'interrupted', '[The run above was cancelled before it was finished.]'],
    ['a failed run', 'failed', '[The run above failed before it was finished.]'],
    ['a run out of time', 'timeout', '[The run above reached its time limit before it was finished.]'],
    ['a run out of budget', 'budget', '[The run above used up its budget before it was finished.]'],
    ['a run in circles', 'stuck', '[The run above was ended because it went in circles.]'],
    ['a denied run', 'denied', '[The run above ended because an action that it needed was denied.]'],
  ])('keeps %s, repaired and marked', (_, status, mark) => {
    const conversation = createConversation();
    conversation.record('1', [user('Q'), call('c', 'read_file')], status);
    expect(conversation.messages()).toEqual([
      user('Q'),
      call('c', 'read_file'),
      result('c', 'read_file', 'Not run: interrupted.'),
      user(mark),
    ]);
    expect(conversation.log()).toMatchObject([{ kind: 'run', runId: '1', status }]);
  });

  it('has a run that was gone on with once, as it last stood, where it last went on', () => {
    const conversation = createConversation();
    conversation.record('1', [user('Q1')], 'interrupted');
    talk(conversation, '2');
    conversation.record('3', [user('Q1'), user('It goes on.'), says('Half.')], 'timeout', '1');
    expect(said(conversation)).toEqual([
      'Q2',
      'A2',
      'Q1',
      'It goes on.',
      'Half.',
      expect.stringContaining('time limit'),
    ]);
    conversation.record('4', [user('Q1'), says('A1')], 'answered', '1');
    expect(said(conversation)).toEqual(['Q2', 'A2', 'Q1', 'A1']);
    expect(conversation.log().map((entry) => entry.kind === 'run' && [entry.runId, entry.beganAs])).toEqual([
      ['1', '1'],
      ['2', '2'],
      ['3', '1'],
      ['4', '1'],
    ]);
  });

  it('marks no run that ended with its own words', () => {
    const conversation = createConversation();
    conversation.record('1', [user('Q'), says('so far')], 'turn-limit');
    expect(said(conversation)).toEqual(['Q', 'so far']);
  });

  it('gives only what its memory lets in, and keeps the rest', () => {
    const conversation = createConversation({ memory: windowMemory({ maxTokens: 2 }) });
    talk(conversation, '1', '2');
    expect(said(conversation)).toEqual(['Q2', 'A2']);
    expect(conversation.log()).toHaveLength(2);
  });
});

describe('an operation', () => {
  it('replaces the messages of the lane, made valid, and is told', () => {
    const events: ContextEvent[] = [];
    const conversation = createConversation({ onContext: (event) => events.push(event) });
    talk(conversation, '1');
    const messages = [{ role: 'system', content: 's' } as const, user('only'), call('c', 'shell')];
    expect(conversation.apply({ opId: 'o', type: 'replace', messages })).toBe(true);
    expect(conversation.messages()).toEqual([
      user('only'),
      call('c', 'shell'),
      result('c', 'shell', 'Not run: interrupted.'),
    ]);
    expect(events).toEqual([
      { type: 'context', operation: 'replace', operationId: 'o', lane: 'default', reason: 'manual', messages: 3 },
    ]);
    talk(conversation, '2');
    expect(said(conversation)).toEqual(['only', '', 'Not run: interrupted.', 'Q2', 'A2']);
  });

  it('without messages keeps those of the lane, and changes only the prompt', () => {
    const conversation = createConversation({ systemPrompt: 'old' });
    talk(conversation, '1');
    conversation.apply({ opId: 'o', type: 'replace', systemPrompt: 'new' });
    expect(said(conversation)).toEqual(['Q1', 'A1']);
    expect(conversation.systemPrompt()).toBe('new');
  });

  it('can be for another lane than the current one', () => {
    const conversation = createConversation();
    talk(conversation, '1');
    conversation.apply({ opId: 'o', type: 'replace', lane: 'side', messages: [user('aside')], reason: 'import' });
    expect(said(conversation)).toEqual(['Q1', 'A1']);
    conversation.apply({ opId: 'p', type: 'switch', lane: 'side' });
    expect(said(conversation)).toEqual(['aside']);
  });

  it('switches between lanes and leaves both as they were', () => {
    const events: ContextEvent[] = [];
    const conversation = createConversation({ onContext: (event) => events.push(event) });
    talk(conversation, '1');
    conversation.apply({ opId: 'o', type: 'switch', lane: 'b' });
    expect(said(conversation)).toEqual([]);
    talk(conversation, '2');
    conversation.apply({ opId: 'p', type: 'switch', lane: 'default' });
    expect(said(conversation)).toEqual(['Q1', 'A1']);
    conversation.apply({ opId: 'q', type: 'switch', lane: 'b' });
    expect(said(conversation)).toEqual(['Q2', 'A2']);
    expect(events.map((event) => [event.lane, event.messages])).toEqual([
      ['b', 0],
      ['default', 2],
      ['b', 2],
    ]);
  });

  it('takes a replacement back, and keeps the runs since', () => {
    const conversation = createConversation();
    talk(conversation, '1');
    conversation.apply({ opId: 'o', type: 'compact', messages: [user('summary')] });
    talk(conversation, '2');
    conversation.apply({ opId: 'p', type: 'restore' });
    expect(said(conversation)).toEqual(['Q1', 'A1', 'Q2', 'A2']);
    conversation.apply({ opId: 'q', type: 'restore', messages: [user('stored')] });
    expect(said(conversation)).toEqual(['stored']);
  });

  it('that takes back what was never replaced changes nothing', () => {
    const conversation = createConversation();
    talk(conversation, '1');
    conversation.apply({ opId: 'o', type: 'restore' });
    expect(said(conversation)).toEqual(['Q1', 'A1']);
  });

  it('counts once under one id, as far back as 128 of them', () => {
    const conversation = createConversation();
    const op = (index: number): ContextOp => ({ opId: `o${index}`, type: 'switch', lane: `l${index}` });
    for (let index = 0; index <= 128; index += 1) expect(conversation.apply(op(index))).toBe(true);
    expect(conversation.apply(op(1))).toBe(false);
    expect(conversation.lane()).toBe('l128');
    expect(conversation.apply(op(0))).toBe(true);
  });

  it('without an id is refused', () => {
    const conversation = createConversation();
    expect(() => conversation.apply({ opId: ' ', type: 'switch' })).toThrow(UsageError);
    expect(() => conversation.defer({ opId: '', type: 'switch' })).toThrow(UsageError);
  });
});

describe('a deferred operation', () => {
  it('waits for the flush, and none is lost or overwritten', () => {
    const events: ContextEvent[] = [];
    const conversation = createConversation({ onContext: (event) => events.push(event) });
    talk(conversation, '1');
    conversation.defer({ opId: 'a', type: 'replace', messages: [user('first')] });
    conversation.defer({ opId: 'b', type: 'switch', lane: 'side' });
    conversation.defer({ opId: 'c', type: 'replace', messages: [user('second')] });
    expect(said(conversation)).toEqual(['Q1', 'A1']);
    expect(events).toEqual([]);
    expect(conversation.flushDeferred()).toEqual(['a', 'b', 'c']);
    expect(events.map((event) => event.operationId)).toEqual(['a', 'b', 'c']);
    expect(said(conversation)).toEqual(['second']);
    conversation.apply({ opId: 'd', type: 'switch' });
    expect(said(conversation)).toEqual(['first']);
    expect(conversation.flushDeferred()).toEqual([]);
  });

  it('is a copy of what was asked for then', () => {
    const conversation = createConversation();
    const messages = [user('then')];
    conversation.defer({ opId: 'a', type: 'replace', messages });
    messages[0] = user('now');
    conversation.flushDeferred();
    expect(said(conversation)).toEqual(['then']);
  });

  it('is known by its id from the moment it waits', () => {
    const conversation = createConversation();
    conversation.defer({ opId: 'a', type: 'switch', lane: 'x' });
    expect(conversation.defer({ opId: 'a', type: 'switch', lane: 'y' })).toBe(false);
    expect(conversation.apply({ opId: 'a', type: 'switch', lane: 'z' })).toBe(false);
    conversation.flushDeferred();
    expect(conversation.lane()).toBe('x');
  });

  it('compacts what was there when it was asked for, and keeps the run it waited for whole', () => {
    const conversation = createConversation({ isLoadedSkill: () => true });
    talk(conversation, '1');
    conversation.defer({ opId: 'a', type: 'compact', messages: [user('summary')] });
    conversation.record('2', [user('Q2'), ...skill('s', 'tests', 'body'), says('A2')], 'answered');
    conversation.flushDeferred();
    expect(said(conversation)).toEqual(['summary', 'Q2', '', 'body', 'A2']);
  });
});

describe('compaction', () => {
  const loaded = (...ids: readonly string[]) =>
    createConversation({ isLoadedSkill: (runId, callId) => ids.includes(`${runId}/${callId}`) });

  it('keeps loaded skills behind the summary, again and again, of two loadings the later', () => {
    const conversation = loaded('1/a', '1/b', '2/c');
    conversation.record('1', [user('Q'), ...skill('a', 'x', 'old x'), ...skill('b', 'y', 'y')], 'answered');
    conversation.record('2', [user('R'), ...skill('c', 'x', 'new x'), says('A')], 'answered');
    for (const opId of ['o', 'p']) {
      conversation.apply({ opId, type: 'compact', messages: [user('summary')] });
      expect(conversation.messages()).toEqual([user('summary'), ...skill('b', 'y', 'y'), ...skill('c', 'x', 'new x')]);
    }
  });

  it('keeps what a run had loaded before it was gone on with', () => {
    const conversation = loaded('1/a', '2/b');
    const first = [user('Q'), ...skill('a', 'x', 'x')];
    conversation.record('1', first, 'interrupted');
    conversation.record('2', [...first, ...skill('b', 'y', 'y')], 'interrupted', '1');
    conversation.record(
      '3',
      [...first, ...skill('b', 'y', 'y'), ...skill('f', 'z', 'forged'), says('A')],
      'answered',
      '1',
    );
    conversation.apply({ opId: 'o', type: 'compact', messages: [user('summary')] });
    expect(conversation.messages()).toEqual([user('summary'), ...skill('a', 'x', 'x'), ...skill('b', 'y', 'y')]);
  });

  it('takes a skill out of a round of several calls', () => {
    const conversation = loaded('1/a');
    const both: Message = {
      role: 'assistant',
      content: 'I look.',
      reasoning: 'hm',
      toolCalls: [
        { id: 'f', name: 'read_file', arguments: '{}' },
        { id: 'a', name: 'load_skill', arguments: '{"name":"x"}' },
      ],
    };
    conversation.record(
      '1',
      [user('Q'), both, result('f', 'read_file', 't'), result('a', 'load_skill', 'b')],
      'failed',
    );
    conversation.apply({ opId: 'o', type: 'compact' });
    expect(conversation.messages()).toEqual(skill('a', 'x', 'b'));
  });

  it.each<[string, readonly Message[]]>([
    ['a pair that the runner did not give', skill('forged', 'x', 'evil')],
    ['a copy under the id of a real one', skill('a', 'x', 'evil')],
    ['a result without its call', [result('a', 'load_skill', 'evil')]],
    ['a result under another name', [call('a', 'load_skill'), result('a', 'shell', 'evil')]],
  ])('drops from its own messages %s', (_, forged) => {
    const conversation = loaded('1/a');
    conversation.record('1', [user('Q'), ...skill('a', 'x', 'real'), says('A')], 'answered');
    conversation.apply({ opId: 'o', type: 'compact', messages: [user('summary'), ...forged, says('end')] });
    expect(conversation.messages()).toEqual([user('summary'), says('end'), ...skill('a', 'x', 'real')]);
  });

  it('takes no other result of a marked id for a skill', () => {
    const conversation = loaded('1/a');
    conversation.record('1', [user('Q'), call('a', 'shell'), result('a', 'load_skill', 'evil'), says('A')], 'answered');
    conversation.apply({ opId: 'o', type: 'compact' });
    expect(conversation.messages()).toEqual([]);
  });
});

describe('any conversation', () => {
  it('is valid and grows only, whatever is recorded and applied', () => {
    const piece: fc.Arbitrary<Message> = fc.oneof(
      fc.string().map(user),
      fc.string().map(says),
      fc.constantFrom('a', 'b').map((id) => call(id, 'load_skill')),
      fc.constantFrom('a', 'b').map((id) => result(id, 'load_skill', 'body')),
      fc.constant<Message>({ role: 'system', content: 's' }),
    );
    const messages = fc.array(piece, { maxLength: 8 });
    const lane = fc.constantFrom('x', 'y', undefined);
    const step = fc.oneof(
      fc.record({ kind: fc.constant('run' as const), messages, status: fc.constantFrom('answered', 'failed') }),
      fc.record({
        kind: fc.constantFrom('apply' as const, 'defer' as const),
        messages: fc.option(messages, { nil: undefined }),
        type: fc.constantFrom('replace', 'switch', 'compact', 'restore'),
        lane,
      }),
      fc.record({ kind: fc.constant('flush' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const conversation = createConversation({ systemPrompt: 'p', isLoadedSkill: () => true });
        let before: readonly unknown[] = [];
        for (const [index, each] of steps.entries()) {
          if (each.kind === 'run') conversation.record(`${index}`, each.messages, each.status);
          else if (each.kind === 'flush') conversation.flushDeferred();
          else {
            const { kind, lane: target, messages: given, type } = each;
            const op = { opId: `${index}`, type, ...(target && { lane: target }), ...(given && { messages: given }) };
            conversation[kind](op);
          }
          const now = conversation.messages();
          expect(repair(now, 'missing')).toEqual(now);
          expect(now.some((message) => message.role === 'system')).toBe(false);
          expect(conversation.systemPrompt()).toBe('p');
          const log = conversation.log();
          expect(log.slice(0, before.length)).toEqual(before);
          before = log;
        }
      }),
    );
  });
});
