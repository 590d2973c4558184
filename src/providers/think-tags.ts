/**
 * Takes reasoning out of a text that begins with `<think>`, as servers hand it out that leave a model's thinking where
 * it is (vLLM without a reasoning parser, llama.cpp and LM Studio with theirs off): it must not pass for the answer.
 * Only the very beginning of a reply is looked at, since an answer may well speak of such tags.
 */
import type { ModelDelta } from './types.js';

export type ThinkTags = {
  /** What of the text can be told already. */
  push(text: string): readonly ModelDelta[];
  /**
   * What was held back. `isAnswer`: the reply ended by itself, and holds nothing else. Then thinking without an end was
   * an answer that only began like one, and is said as text.
   */
  end(isAnswer: boolean): readonly ModelDelta[];
};

const OPEN = '<think>';
const CLOSE = '</think>';

export function createThinkTags(): ThinkTags {
  let state: 'start' | 'thinking' | 'after' | 'text' = 'start';
  let held = '';
  let thought = '';

  function atStart(text: string): readonly ModelDelta[] {
    held += text;
    const begun = held.trimStart();
    if (begun.startsWith(OPEN)) {
      state = 'thinking';
      return thinking(take().trimStart().slice(OPEN.length));
    }
    if (OPEN.startsWith(begun)) return [];
    state = 'text';
    return said('text', take());
  }

  function thinking(text: string): readonly ModelDelta[] {
    held += text;
    const end = held.indexOf(CLOSE);
    if (end === -1) {
      const safe = held.length - lengthOfTail(held);
      const sure = held.slice(0, safe);
      held = held.slice(safe);
      thought += sure;
      return said('reasoning', sure);
    }
    const rest = held.slice(end + CLOSE.length);
    const last = said('reasoning', held.slice(0, end));
    held = '';
    state = 'after';
    return [...last, ...after(rest)];
  }

  /** The blank lines behind the thinking belong to neither. */
  function after(text: string): readonly ModelDelta[] {
    const rest = text.trimStart();
    if (rest === '') return [];
    state = 'text';
    return said('text', rest);
  }

  function take(): string {
    const text = held;
    held = '';
    return text;
  }

  return {
    push: (text) => {
      if (state === 'text') return said('text', text);
      if (state === 'start') return atStart(text);
      return state === 'thinking' ? thinking(text) : after(text);
    },
    end: (isAnswer) => {
      if (state !== 'thinking') return said('text', take());
      return isAnswer ? said('text', OPEN + thought + take()) : said('reasoning', take());
    },
  };
}

/** How many characters at the end may be the beginning of the closing tag. */
function lengthOfTail(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length -= 1)
    if (text.endsWith(CLOSE.slice(0, length))) return length;
  return 0;
}

function said(type: 'text' | 'reasoning', text: string): readonly ModelDelta[] {
  return text === '' ? [] : [{ type, text }];
}
