import { describe, expect, it } from 'vitest';
import { openCalls, repair } from '../../src/kernel/transcript.js';
import type { Message, ToolCall } from '../../src/kernel/types.js';

const call = (id: string): ToolCall => ({ id, name: 'shell', arguments: '{}' });
const user: Message = { role: 'user', content: 'go' };
const asks = (...ids: string[]): Message => ({ role: 'assistant', content: '', toolCalls: ids.map(call) });
const result = (callId: string, content = callId): Message => ({ role: 'tool', callId, name: 'shell', content });
const says: Message = { role: 'assistant', content: 'Done.' };
const lost = (callId: string) => result(callId, 'lost');

describe('repairing a history', () => {
  it.each<[string, readonly Message[], readonly Message[]]>([
    [
      'leaves a valid one as it was',
      [user, asks('a', 'b'), result('a'), result('b'), user],
      [user, asks('a', 'b'), result('a'), result('b'), user],
    ],
    [
      'answers a call that has no result',
      [user, asks('a', 'b'), result('a')],
      [user, asks('a', 'b'), result('a'), lost('b')],
    ],
    ['leaves a reply without calls as it was', [user, says, user], [user, says, user]],
    ['drops a result without a call', [user, result('x'), user], [user, user]],
    ['drops a second result', [asks('a'), result('a'), result('a', 'again')], [asks('a'), result('a')]],
    ['moves a late result behind its call', [asks('a'), user, result('a')], [asks('a'), result('a'), user]],
    [
      'puts results in call order',
      [asks('a', 'b'), result('b'), result('a')],
      [asks('a', 'b'), result('a'), result('b')],
    ],
    [
      'keeps apart ids that come again in a later turn',
      [asks('a'), result('a', 'first'), asks('a'), result('a', 'second')],
      [asks('a'), result('a', 'first'), asks('a'), result('a', 'second')],
    ],
  ])('%s', (_, broken, whole) => {
    expect(repair(broken, 'lost')).toEqual(whole);
  });
});

describe('open calls', () => {
  it.each<[string, readonly Message[], readonly string[]]>([
    ['none in an empty history', [], []],
    ['those of the last reply without a result', [asks('a', 'b'), result('a')], ['b']],
    ['none once all are answered', [asks('a'), result('a')], []],
    ['none behind a reply without calls', [user, asks('a'), says], []],
    ['those that only words of the person stand behind', [asks('a'), user], ['a']],
    ['those whose id was answered in an earlier turn', [asks('a'), result('a'), asks('a')], ['a']],
  ])('%s', (_, messages, ids) => {
    expect(openCalls(messages).map((open) => open.id)).toEqual(ids);
  });
});
