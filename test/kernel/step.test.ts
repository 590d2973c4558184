import { describe, expect, it } from 'vitest';
import { addUsage, InvalidStep, NO_USAGE, observe, reopen, start } from '../../src/kernel/step.js';
import { canGoOn, openCalls, taskOf } from '../../src/kernel/transcript.js';
import type { Message, Observation, OutcomeReason, Step, Stop, ToolCall, ToolResult } from '../../src/kernel/types.js';

const TASK: readonly Message[] = [
  { role: 'system', content: 'You code.' },
  { role: 'user', content: 'Fix it.' },
];

const call = (id: string, name = 'read_file', args = '{"path":"a"}'): ToolCall => ({ id, name, arguments: args });
const reply = (fields: Partial<Extract<Observation, { kind: 'reply' }>>): Observation => ({
  kind: 'reply',
  text: '',
  toolCalls: [],
  finishReason: 'stop',
  usage: { ...NO_USAGE, requests: 1, promptTokens: 3, completionTokens: 2, totalTokens: 5 },
  ...fields,
});
const says = (text: string) => reply({ text });
const calls = (...toolCalls: ToolCall[]) => reply({ toolCalls, finishReason: 'tool_calls' });
const cut = (text: string, ...toolCalls: ToolCall[]) => reply({ text, toolCalls, finishReason: 'length' });
const ok = (callId: string, output = 'fine'): ToolResult => ({ callId, output, ok: true });
const results = (...list: ToolResult[]): Observation => ({ kind: 'results', results: list });
const play = (seen: readonly Observation[], maxTurns = 30): Step =>
  seen.reduce((step, observation) => observe(step.state, observation), start(TASK, { maxTurns }));
const roles = (step: Step) => step.state.messages.map((message) => message.role);
const denied = (callId: string): ToolResult => ({ callId, output: 'no', ok: false, code: 'denied', denied: true });

/** Rounds of a shell call that is refused, one for each of `args`. */
const refusals = (...args: string[]): Observation[] =>
  args.flatMap((text, n) => [calls(call(`c${n}`, 'shell', text)), results({ ...denied(`c${n}`), output: `no ${n}` })]);

/** `count` rounds of the same call, the n-th with the id `c<n>` and the result `output(n)`. */
const rounds = (count: number, output: (round: number) => string, text = ''): Observation[] =>
  Array.from({ length: count }, (_, round) => [
    reply({ text, toolCalls: [call(`c${round}`)], finishReason: 'tool_calls' }),
    results(ok(`c${round}`, output(round))),
  ]).flat();

describe('the first step', () => {
  it('asks the model with the opening messages, with nothing counted yet', () => {
    expect(start(TASK, { maxTurns: 3 })).toEqual({
      state: {
        phase: 'reason',
        messages: TASK,
        openingCount: 2,
        limits: { maxTurns: 3 },
        turns: 0,
        emptyReplies: 0,
        cutReplies: 0,
        cutAnswer: '',
        refusals: 0,
        usage: NO_USAGE,
        stuck: { seen: [], counts: {} },
        denials: {},
      },
      action: { kind: 'reason', messages: TASK, purpose: 'turn' },
    });
  });
});

describe('what comes next', () => {
  it.each<[string, readonly Observation[], string]>([
    ['asks the model first', [], 'reason'],
    ['runs the calls of a reply', [calls(call('a'))], 'act'],
    ['asks again after the results', [calls(call('a')), results(ok('a'))], 'reason'],
    ['ends with a reply without calls', [says('Done.')], 'finish'],
    ['asks again after an empty reply', [says(' \n')], 'reason'],
    ['asks again after two empty replies', [says(''), says('')], 'reason'],
    [
      'does not run the calls of a reply that was cut off',
      [reply({ toolCalls: [call('a')], finishReason: 'length' })],
      'reason',
    ],
    ['asks a text that was cut off to go on', [cut('Half')], 'reason'],
    ['ends with the last piece of a text that was cut off', [cut('Half'), says(' and half')], 'finish'],
  ])('%s', (_, seen, kind) => {
    expect(play(seen).action.kind).toBe(kind);
  });
});

describe('how a run ends', () => {
  const blankCalls = reply({ text: ' \n', toolCalls: [call('b')], finishReason: 'tool_calls' });
  const timeout: Observation = { kind: 'stop', reason: 'timeout' };

  it.each<[string, readonly Observation[], object]>([
    ['answered', [says('Done.')], { reason: 'answered', answer: 'Done.' }],
    [
      'failed by three empty replies in a row',
      [says(''), says(''), says('')],
      { reason: 'failed', error: { kind: 'provider', message: expect.stringContaining('3 empty replies') } },
    ],
    ['answered when only two replies in a row were empty', [says(''), says(''), says('Done.')], { reason: 'answered' }],
    [
      'answered when a full reply stands between empty ones',
      [says(''), says(''), calls(call('a')), results(ok('a')), says(''), says(''), says('Done.')],
      { reason: 'answered' },
    ],
    [
      'failed by the content filter',
      [reply({ text: 'I', finishReason: 'content_filter' })],
      { reason: 'failed', error: { kind: 'provider', message: expect.stringContaining('content filter') } },
    ],
    ['stuck at the fifth same result', rounds(5, () => 'same'), { reason: 'stuck' }],
    [
      'timed out with the last words',
      [...rounds(1, () => 'x', 'Looking.'), { kind: 'stop', reason: 'timeout' }],
      { reason: 'timeout', answer: 'Looking.' },
    ],
    [
      'answered by all pieces of a text that was cut off',
      [cut('One, '), cut('two, '), says('three.')],
      { reason: 'answered', answer: 'One, two, three.' },
    ],
    [
      'answered without the piece before a call, which was no piece of the answer',
      [cut('One, '), calls(call('a')), results(ok('a')), says('Done.')],
      { reason: 'answered', answer: 'Done.' },
    ],
    [
      'answered without the text beside a call that was cut off',
      [cut('I write: ', call('a')), says('Done.')],
      { reason: 'answered', answer: 'Done.' },
    ],
    [
      'ended by a limit, with its pieces, when four replies in a row were cut off',
      [cut('1'), cut('2'), cut('3'), cut('4')],
      { reason: 'budget', answer: '1234', error: { kind: 'budget', message: expect.stringContaining('4 times') } },
    ],
    [
      'ended by a limit when four calls in a row were cut off',
      ['a', 'b', 'c', 'd'].map((id) => cut('', call(id))),
      { reason: 'budget' },
    ],
    [
      'answered when a whole reply stands between those that were cut off',
      [cut('1'), cut('2'), cut('3'), calls(call('a')), results(ok('a')), cut('4'), says('5')],
      { reason: 'answered', answer: '45' },
    ],
    [
      'timed out with the pieces of the answer',
      [cut('One, '), { kind: 'stop', reason: 'timeout', text: 'tw' }],
      { reason: 'timeout', answer: 'One, tw' },
    ],
    [
      'timed out with what had arrived of the reply that was dropped',
      [{ kind: 'stop', reason: 'timeout', text: 'Half a' }],
      { reason: 'timeout', answer: 'Half a' },
    ],
    [
      'timed out with the last words, where only blanks had arrived of the reply',
      [...rounds(1, () => 'x', 'Looking.'), { kind: 'stop', reason: 'timeout', text: ' \n' }],
      { reason: 'timeout', answer: 'Looking.' },
    ],
    [
      'timed out with the last words, whatever calls came without words since',
      [...rounds(1, () => 'x', 'Looking.'), calls(call('a')), results(ok('a')), blankCalls, timeout],
      { reason: 'timeout', answer: 'Looking.' },
    ],
    ['interrupted', [{ kind: 'stop', reason: 'interrupted' }], { reason: 'interrupted', answer: '' }],
    [
      'failed with the error that the driver saw',
      [{ kind: 'stop', reason: 'failed', error: { kind: 'provider', message: 'gone' } }],
      { reason: 'failed', error: { kind: 'provider', message: 'gone' } },
    ],
    ['denied when the same call was refused three times', refusals('{}', '{}', '{}'), { reason: 'denied' }],
    [
      'denied when the refused calls differ only in blanks around their arguments',
      refusals('{}', ' {}', '{}\n'),
      { reason: 'denied' },
    ],
    [
      'answered when three different calls were refused',
      [...refusals('{"command":"a"}', '{"command":"b"}', '{"command":"c"}'), says('Done.')],
      { reason: 'answered' },
    ],
  ])('%s', (_, seen, end) => {
    expect(play(seen).action).toMatchObject({ kind: 'finish', end });
  });

  it('has no error where none was seen', () => {
    expect(play([timeout]).action).toStrictEqual({ kind: 'finish', end: { reason: 'timeout', answer: '' } });
  });

  it('does not give words of an earlier run as the last words of this one', () => {
    const first = start([...TASK, { role: 'assistant', content: 'Earlier.' }, { role: 'user', content: 'Again.' }], {
      maxTurns: 3,
    });
    expect(observe(first.state, { kind: 'stop', reason: 'interrupted' }).action).toMatchObject({ end: { answer: '' } });
  });
});

describe('the turn limit', () => {
  const three = rounds(3, (round) => `result ${round}`);

  it('asks for a summary in one last request without tools', () => {
    const step = play(three, 3);
    expect(step.action).toMatchObject({ kind: 'reason', purpose: 'summary' });
    expect(step.state.messages.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringMatching(/all 3 turns.*still open/),
    });
  });

  it('ends as a limit with the summary, not as an answer', () => {
    expect(play([...three, says('Half done.')], 3).action).toEqual({
      kind: 'finish',
      end: { reason: 'turn-limit', answer: 'Half done.' },
    });
  });

  it('drops calls that come with the summary', () => {
    const step = play([...three, reply({ text: 'Half.', toolCalls: [call('x')] })], 3);
    expect(step.state.messages.at(-1)).toEqual({ role: 'assistant', content: 'Half.' });
  });

  it.each(['', ' \n'])('falls back to the last words when the summary is %j, which is not recorded', (text) => {
    const limited = play(
      rounds(1, () => 'r', 'On it.'),
      1,
    );
    const step = observe(limited.state, says(text));
    expect(step.action).toMatchObject({ end: { reason: 'turn-limit', answer: 'On it.' } });
    expect(step.state.messages).toEqual(limited.state.messages);
  });

  it('does not give out as a summary what the content filter cut off', () => {
    const step = play([...three, reply({ text: 'So f', finishReason: 'content_filter' })], 3);
    expect(step.action).toMatchObject({ end: { reason: 'failed', error: { kind: 'provider' } } });
    expect(step.state.messages.at(-1)).toMatchObject({ role: 'user' });
  });

  it('lets the last turn answer', () => {
    expect(play([...rounds(2, String), says('Done.')], 3).action).toMatchObject({ end: { reason: 'answered' } });
  });

  it.each([
    [1, 1],
    [2, 2],
    [7, 7],
  ])('counts %i turns', (maxTurns, turns) => {
    expect(play(rounds(maxTurns, String), maxTurns).state.turns).toBe(turns);
  });

  it('does not count an empty reply as a turn', () => {
    expect(play([says(''), says('Done.')], 1).state.turns).toBe(1);
  });
});

describe('going in circles', () => {
  const lastResult = (step: Step) => step.state.messages.findLast((message) => message.role === 'tool')?.content ?? '';

  it.each([
    ['no note at the second', 2, false],
    ['a note at the third', 3, true],
    ['no second note at the fourth', 4, false],
  ])('same result: %s', (_, count, noted) => {
    expect(lastResult(play(rounds(count, () => 'same'))).includes('third time')).toBe(noted);
  });

  it('is not fooled by fresh words in front of the same call', () => {
    const seen = Array.from({ length: 5 }, (_, n) => [
      reply({ text: `Step ${n}`, toolCalls: [call(`c${n}`)], finishReason: 'tool_calls' }),
      results(ok(`c${n}`, 'same')),
    ]).flat();
    expect(play(seen).action).toMatchObject({ kind: 'finish', end: { reason: 'stuck' } });
  });

  it('never stops work whose results are new', () => {
    expect(play(rounds(25, String)).action.kind).toBe('reason');
  });

  it('counts again from the start after something new', () => {
    const seen = rounds(11, (round) => (round === 4 || round === 9 ? `new ${round}` : 'same'));
    expect(play(seen).action.kind).toBe('reason');
  });

  it('sees two calls that alternate', () => {
    const seen = Array.from({ length: 10 }, (_, n) => [
      calls(call(`c${n}`, `tool_${n % 2}`)),
      results(ok(`c${n}`, 'same')),
    ]).flat();
    expect(play(seen).action).toMatchObject({ kind: 'finish', end: { reason: 'stuck' } });
  });

  it('sees a call again whatever blanks stand around its arguments', () => {
    const seen = ['{}', ' {}', '{} ', '\n{}', '{}\n'].flatMap((args, n) => [
      calls(call(`c${n}`, 'shell', args)),
      results(ok(`c${n}`, 'same')),
    ]);
    expect(play(seen).action).toMatchObject({ kind: 'finish', end: { reason: 'stuck' } });
  });

  it('goes on counting in a run that an earlier version stored', () => {
    const same = 3982148063973244; // What `rounds` with the result `same` came to in 0.1.0.
    const { state } = start(TASK, { maxTurns: 30 });
    const stored = { ...state, stuck: { seen: [same], counts: { [same]: 4 } } };
    const [asks, answers] = rounds(1, () => 'same');
    expect(observe(observe(stored, asks!).state, answers!).action).toMatchObject({
      kind: 'finish',
      end: { reason: 'stuck' },
    });
  });

  describe('with the same words in front of calls that bring nothing new', () => {
    /** Three tools in turn, each with one result: the words count from the third round, when nothing is new any more. */
    const circle = (words: (round: number) => string, count: number) =>
      Array.from({ length: count }, (_, n) => [
        reply({ text: words(n), toolCalls: [call(`c${n}`, `tool_${n % 3}`)] }),
        results(ok(`c${n}`, 'same')),
      ]).flat();

    it.each<[string, (round: number) => string]>([
      ['the same words', () => 'Look.'],
      ['words that differ in the blanks around them', (round) => `${' '.repeat(round)}Look.\n`],
    ])('ends with the fifth time before its calls run: %s', (_, words) => {
      const step = play(circle(words, 8).slice(0, -1));
      expect(step.action).toEqual({ kind: 'finish', end: { reason: 'stuck', answer: words(7) } });
      expect(step.state).toMatchObject({ phase: 'finished', turns: 8 });
      expect(step.state.messages.at(-1)).toMatchObject({ callId: 'c7', content: expect.stringContaining('Not run') });
    });

    it.each<[string, (round: number) => string, number]>([
      ['at the fourth time', () => 'Look.', 7],
      ['where the words differ', (round) => `Look ${round}.`, 9],
      ['where there are only blanks', () => ' \n', 9],
    ])('goes on %s', (_, words, count) => {
      expect(play(circle(words, count)).action.kind).toBe('reason');
    });
  });
});

describe('the history', () => {
  it('records results in call order, whatever order they come in', () => {
    const step = play([calls(call('a'), call('b')), results(ok('b', 'B'), ok('a', 'A'))]);
    expect(step.state.messages.slice(-2)).toEqual([
      { role: 'tool', callId: 'a', name: 'read_file', content: 'A' },
      { role: 'tool', callId: 'b', name: 'read_file', content: 'B' },
    ]);
  });

  it('answers open calls when the run is stopped during a round', () => {
    const step = play([calls(call('a'), call('b')), { kind: 'stop', reason: 'interrupted' }]);
    expect(roles(step)).toEqual(['system', 'user', 'assistant', 'tool', 'tool']);
  });

  it('answers calls that were cut off, saying so', () => {
    const step = play([reply({ toolCalls: [call('a')], finishReason: 'length' })]);
    expect(step.state.messages.at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining('cut off') });
  });

  it('asks a text that was cut off to go on, behind its piece', () => {
    expect(play([cut('Half')]).state.messages.slice(2)).toEqual([
      { role: 'assistant', content: 'Half' },
      { role: 'user', content: expect.stringMatching(/cut off.*smaller steps/) },
    ]);
  });

  it('keeps reasoning with its message and stores no empty reply', () => {
    const step = play([says(''), reply({ text: 'Done.', reasoning: 'Hm.' })]);
    expect(step.state.messages.slice(2)).toEqual([
      { role: 'user', content: expect.stringContaining('empty') },
      { role: 'assistant', content: 'Done.', reasoning: 'Hm.' },
    ]);
  });

  it('keeps what the provider wants back with its message', () => {
    const replay = { origin: 'p:api', items: [{ type: 'reasoning', sealed: 'x' }] };
    const step = play([reply({ toolCalls: [call('a')], replay }), results(ok('a')), says('Done.')]);
    expect(step.state.messages.slice(2)).toEqual([
      { role: 'assistant', content: '', toolCalls: [call('a')], replay },
      { role: 'tool', callId: 'a', name: 'read_file', content: 'fine' },
      { role: 'assistant', content: 'Done.' },
    ]);
  });

  it('only ever grows at its end', () => {
    const seen = [...rounds(3, String), says('Done.')];
    let step = start(TASK, { maxTurns: 9 });
    for (const observation of seen) {
      const before = step.state.messages;
      step = observe(step.state, observation);
      expect(step.state.messages.slice(0, before.length)).toEqual(before);
    }
  });

  it('survives being stored as JSON between any two steps', () => {
    const seen = [...rounds(3, () => 'same'), says('Done.')];
    const stored = seen.reduce<Step>(
      (step, observation) => observe(JSON.parse(JSON.stringify(step.state)), observation),
      start(TASK, { maxTurns: 9 }),
    );
    expect(stored).toEqual(play(seen, 9));
  });

  it('adds usages count by count', () => {
    const [left, right, sum] = [1, 10, 11].map((factor) => ({
      requests: factor,
      promptTokens: 2 * factor,
      completionTokens: 3 * factor,
      cachedTokens: 4 * factor,
      reasoningTokens: 5 * factor,
      totalTokens: 6 * factor,
    }));
    expect(addUsage(left!, right!)).toEqual(sum);
  });

  it('sums the usage of all replies', () => {
    expect(play([calls(call('a')), results(ok('a')), says('Done.')]).state.usage).toEqual(
      addUsage(addUsage(NO_USAGE, { ...NO_USAGE, requests: 2 }), {
        ...NO_USAGE,
        promptTokens: 6,
        completionTokens: 4,
        totalTokens: 10,
      }),
    );
  });
});

describe('input while a run is on', () => {
  const contents = (step: Step) => step.state.messages.slice(2).map((message) => message.content);

  it('goes into the history before the next model call', () => {
    const step = play([calls(call('a')), results(ok('a', 'A')), { kind: 'input', texts: ['one', 'two'] }]);
    expect(step.action).toMatchObject({ kind: 'reason', messages: step.state.messages });
    expect(contents(step)).toEqual(['', 'A', 'one', 'two']);
  });

  it('goes on after a final text instead of ending', () => {
    const step = play([reply({ text: 'A1', followUps: ['Q2'] }), says('A2')]);
    expect(step.action).toMatchObject({ kind: 'finish', end: { reason: 'answered', answer: 'A2' } });
    expect(contents(step)).toEqual(['A1', 'Q2', 'A2']);
  });
});

describe('an answer that is refused', () => {
  const refused = (text: string) => reply({ text, refusal: `not ${text}` });

  it('is asked for again with what is wrong', () => {
    const step = play([refused('x')]);
    expect(step.action.kind).toBe('reason');
    expect(step.state.messages.at(-1)).toEqual({ role: 'user', content: 'not x' });
  });

  it.each([
    [
      'is taken when it fits at last',
      [refused('1'), refused('2'), refused('3'), says('ok')],
      { reason: 'answered', answer: 'ok' },
    ],
    [
      'fails the run after the last retry',
      ['1', '2', '3', '4'].map(refused),
      { reason: 'failed', error: { kind: 'output', message: expect.stringMatching(/4 times.*not 4/) } },
    ],
  ])('%s', (_, seen, end) => {
    const { state, action } = play(seen);
    expect(action).toMatchObject({ kind: 'finish', end });
    expect(state).toMatchObject({ phase: 'finished', turns: 4 });
  });

  it('has a budget of its own, apart from the turns', () => {
    expect(play([refused('1'), refused('2'), says('ok')], 1).action).toMatchObject({ end: { reason: 'answered' } });
  });

  it('may be retried as often as the limits say', () => {
    const { state } = start(TASK, { maxTurns: 9, maxOutputRetries: 0 });
    expect(observe(state, refused('1')).action).toMatchObject({ kind: 'finish', end: { error: { kind: 'output' } } });
  });
});

describe('reopening a stored state', () => {
  it.each<[string, readonly Observation[], object]>([
    ['asks the model where that was next', [calls(call('a')), results(ok('a'))], { kind: 'reason', purpose: 'turn' }],
    ['runs the calls that were open', [calls(call('a'), call('b'))], { kind: 'act', calls: [call('a'), call('b')] }],
    ['asks for the summary where that was next', rounds(2, String), { kind: 'reason', purpose: 'summary' }],
  ])('%s', (_, seen, action) => {
    const step = play(seen, 2);
    expect(step.action).toMatchObject(action);
    expect(reopen(JSON.parse(JSON.stringify(step.state)))).toEqual(step);
  });

  it.each([
    ['with its answer', {}],
    ['as a state of before tells, without how', { endedBy: undefined }],
  ])('refuses a run that had ended %s', (_, fields) => {
    const state = { ...play([says('Done.')]).state, ...fields };
    expect(() => reopen(state)).toThrow(InvalidStep);
    expect(() => reopen(state)).toThrow('has ended');
    expect(canGoOn(state)).toBe(false);
  });

  it('says whether anything is left to do', () => {
    expect(canGoOn(play([]).state)).toBe(true);
    expect(canGoOn(play([{ kind: 'stop', reason: 'timeout' }]).state)).toBe(true);
  });

  it('begins anew with replies that were cut off', () => {
    const ended = play([cut('1'), cut('2'), cut('3'), cut('4')]);
    expect(ended.state).toMatchObject({ phase: 'finished', endedBy: 'budget' });
    const again = reopen(ended.state);
    expect(again.state).toMatchObject({ cutReplies: 0, cutAnswer: '' });
    expect(observe(again.state, says('5')).action).toMatchObject({ end: { reason: 'answered', answer: '5' } });
  });

  it.each([{ phase: 'zzz' }, {}, null])('refuses what is no state: %j', (state) => {
    expect(() => reopen(state as never)).toThrow(InvalidStep);
    expect(() => reopen(state as never)).toThrow('phase is unknown');
  });

  const stopped = (reason: Stop['reason']): Observation[] => [calls(call('a')), { kind: 'stop', reason }];
  const refused = [0, 1, 2, 3].map((n) => reply({ text: `{${n}`, refusal: `Bad ${n}.` }));
  it.each<[string, readonly Observation[], OutcomeReason, RegExp]>([
    ['was cancelled', stopped('interrupted'), 'interrupted', /cancelled before it was finished/],
    ['ran out of time', stopped('timeout'), 'timeout', /time limit/],
    ['ran out of budget', stopped('budget'), 'budget', /budget/],
    ['failed', stopped('failed'), 'failed', /failed/],
    ['was denied what it needed', refusals('x', 'x', 'x'), 'denied', /denied/],
    ['went in circles', rounds(5, () => 'same'), 'stuck', /circles.*another way/],
    ['said nothing', [says(''), says(''), says('')], 'failed', /failed/],
    ['gave no answer that fits', refused, 'failed', /failed/],
    ['reached its turn limit', [...rounds(8, String), says('So far.')], 'turn-limit', /turn limit.*new turns/],
    [
      'was cancelled in its summary',
      [...rounds(8, String), ...stopped('interrupted').slice(1)],
      'interrupted',
      /cancel/,
    ],
  ])('goes on with one that %s, and tells the model so', (_, seen, endedBy, told) => {
    const { state, action } = play(seen, 8);
    expect({ action, state }).toMatchObject({ action: { kind: 'finish' }, state: { phase: 'finished', endedBy } });
    const again = reopen(JSON.parse(JSON.stringify(state)));
    const mark = again.state.messages.at(-1);
    expect(again.state.messages).toEqual([...state.messages, mark]);
    expect(mark).toEqual({ role: 'user', content: expect.stringMatching(told) });
    expect(mark?.content).toContain('It goes on now');
    expect(again.action).toEqual({ kind: 'reason', messages: again.state.messages, purpose: 'turn' });
    expect(openCalls(again.state.messages)).toEqual([]);
    // It is a state like any other, and what ended it does not end it at once again.
    expect(again.state).not.toHaveProperty('endedBy');
    const next = observe(again.state, calls(call('z', 'shell', 'x')));
    expect(next.action).toMatchObject({ kind: 'act' });
    expect(observe(next.state, results({ ...denied('z'), output: 'same' })).action).toMatchObject({ purpose: 'turn' });
    expect(observe(again.state, says('')).action).toMatchObject({ kind: 'reason' });
    expect(observe(again.state, reply({ text: '{', refusal: 'Bad.' })).action).toMatchObject({ kind: 'reason' });
  });

  it('keeps what counts for the whole run: its turns, its spending, and where it began', () => {
    const { state } = play(stopped('interrupted'));
    expect(reopen(state).state).toMatchObject({ turns: 1, usage: state.usage, openingCount: 2, limits: state.limits });
  });

  it('tells it once, however often the run ends before anything more is said', () => {
    const again = reopen(play(stopped('interrupted')).state);
    const twice = reopen(observe(again.state, { kind: 'stop', reason: 'interrupted' }).state);
    expect(twice).toEqual(again);
    const other = reopen(observe(again.state, { kind: 'stop', reason: 'timeout' }).state);
    expect(other.state.messages).toHaveLength(again.state.messages.length + 1);
  });

  it.each([
    ['the last message that it began with', TASK, 'Fix it.'],
    ['nothing where that is no task', TASK.slice(0, 1), ''],
    ['nothing where there is none', [], ''],
  ])('knows its task: %s', (_, messages, task) => {
    expect(taskOf(start(messages, { maxTurns: 3 }).state)).toBe(task);
  });
});

describe('observations that do not fit are refused, saying why', () => {
  const open = [calls(call('a'), call('b'))];
  it.each<[string, readonly Observation[], Observation, string]>([
    ['a result for a call that is not open', open, results(ok('a'), ok('z')), 'call b has no result'],
    ['fewer results than open calls', open, results(ok('a')), '2 open calls'],
    ['two results for one call', open, results(ok('a'), ok('a')), 'call b has no result'],
    ['more results than open calls', open, results(ok('a'), ok('b'), ok('b')), '2 open calls'],
    ['a reply while calls are open', open, says('Hi.'), 'reply came while'],
    ['results while none are awaited', [], results(ok('a')), 'no tool call was open'],
    ['an empty batch while none is awaited', [], results(), 'no tool call was open'],
    ['two calls with one id', [], calls(call('a'), call('a')), 'unique'],
    ['input while calls are open', open, { kind: 'input', texts: ['x'] }, 'no model call was next'],
    ['a call without an id', [], calls(call('')), 'not empty'],
    ['a call without a name', [], calls(call('a', '')), 'no name'],
    ['anything once the run has ended', [says('Done.')], says('More.'), 'has ended'],
    ['something of an unknown kind', [], { kind: 'banana' } as never, 'kind is unknown'],
    ['nothing', [], null as never, 'kind is unknown'],
    ['results that are no list', open, { kind: 'results' } as never, 'exactly one result'],
  ])('%s', (_, before, bad, words) => {
    const { state } = play(before);
    const copy = structuredClone(state);
    expect(() => observe(state, bad)).toThrow(InvalidStep);
    expect(() => observe(state, bad)).toThrow(
      expect.objectContaining({ name: 'InvalidStep', message: expect.stringContaining(words) }),
    );
    expect(state).toEqual(copy);
  });
});

describe('a history made shorter by the driver', () => {
  const shorter: Message[] = [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'Task, and what was done.' },
  ];
  const context = (messages: readonly Message[], openingCount = messages.length): Observation => ({
    kind: 'context',
    messages,
    openingCount,
  });
  const pair: Message[] = [
    { role: 'assistant', content: '', toolCalls: [call('x')] },
    { role: 'tool', callId: 'x', name: 'read_file', content: 'X' },
  ];

  it('takes the place of the old one, and the same is asked', () => {
    const step = observe(play(rounds(2, String)).state, context([...shorter, ...pair], 2));
    expect(step.action).toEqual({ kind: 'reason', messages: [...shorter, ...pair], purpose: 'turn' });
    expect(step.state).toMatchObject({ openingCount: 2, turns: 2 });
  });

  it('lets what was left out be looked at again, which is no circle', () => {
    const same = rounds(4, () => 'same');
    const again = [context(shorter), ...same].reduce((step, seen) => observe(step.state, seen), play(same));
    expect(again.action.kind).toBe('reason');
    const fifth = rounds(5, () => 'same').slice(8);
    expect(fifth.reduce((step, seen) => observe(step.state, seen), again).action).toMatchObject({
      end: { reason: 'stuck' },
    });
  });

  it('counts what it cost', () => {
    const usage = { ...NO_USAGE, requests: 1, promptTokens: 7, totalTokens: 7 };
    const step = observe(play([]).state, { ...context(shorter), usage } as Observation);
    expect(step.state.usage).toEqual(usage);
  });

  it('is taken before the summary at a turn limit too', () => {
    const step = observe(play(rounds(1, String), 1).state, context(shorter));
    expect(step.action).toEqual({ kind: 'reason', messages: shorter, purpose: 'summary' });
  });

  it.each<[string, readonly Observation[], Observation, string]>([
    ['that is empty', [], context([], 0), 'no valid one'],
    ['with a call without its result', [], context([...shorter, ...pair.slice(0, 1)], 1), 'no valid one'],
    ['with a result without its call', [], context([...shorter, ...pair.slice(1)], 1), 'no valid one'],
    ['with a result before its call', [], context([...shorter, ...pair.toReversed()], 1), 'no valid one'],
    ['that begins with more messages than it has', [], context(shorter, 3), 'no valid one'],
    ['that begins with none', [], context(shorter, 0), 'no valid one'],
    ['while calls are open', [calls(call('a'))], context(shorter), 'while tool calls were open'],
  ])('is refused when it is one %s', (_, seen, observation, words) => {
    const { state } = play(seen);
    const before = structuredClone(state);
    expect(() => observe(state, observation)).toThrow(words);
    expect(() => observe(state, observation)).toThrow(InvalidStep);
    expect(state).toEqual(before);
  });
});
