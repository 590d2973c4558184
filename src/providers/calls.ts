/**
 * Puts tool calls together from the fragments of a stream. Endpoints leave out indexes or give 0 to every call, send
 * ids late, never, or anew with each fragment, and split names or repeat them; so a call is found by its id first,
 * and a new id or a new name starts a new one.
 */
import type { Opaque, ToolCall } from '../kernel/types.js';
import { asRecord, type JsonRecord, parseJson, textOf } from './json.js';

export type CallAssembler = {
  /** Takes one element of `tool_calls`. `isWhole` says that it is no fragment but a call of its own. */
  add(fragment: unknown, isWhole: boolean): void;
  /** The calls in the order they began. An id or a name that never came is empty; arguments that never came are `{}`. */
  calls(): readonly ToolCall[];
};

type Fragment = {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly extra: Opaque | undefined;
};

type Draft = { readonly index: number | undefined; id: string; name: string; text: string; extra?: Opaque };

/** Assembles the calls of one reply. The work per fragment does not grow with what came before. */
export function createCallAssembler(): CallAssembler {
  const drafts: Draft[] = [];
  const latestById = new Map<string, Draft>();
  const latestByIndex = new Map<number, Draft>();

  /** The call that a fragment without an id of its own goes on with: the one of its index, else the last. */
  function openCall(index: number | undefined): Draft | undefined {
    return (index === undefined ? undefined : latestByIndex.get(index)) ?? drafts.at(-1);
  }

  function continued(fragment: Fragment): Draft | undefined {
    const known = fragment.id === '' ? undefined : latestById.get(fragment.id);
    const draft = known ?? openCall(fragment.index);
    if (draft === undefined || startsAnother(draft, fragment)) return undefined;
    if (known) return known;
    const isSamePlace = fragment.index === undefined || fragment.index === draft.index;
    // An id may come late; a second one means another call.
    if (fragment.id !== '') return isSamePlace && draft.id === '' ? draft : undefined;
    return isSamePlace || fragment.name === '' ? draft : undefined;
  }

  function begin({ index }: Fragment): Draft {
    const draft: Draft = { index, id: '', name: '', text: '' };
    drafts.push(draft);
    return draft;
  }

  return {
    add: (element, isWhole) => {
      const fragment = readFragment(element);
      if (fragment === undefined) return;
      const draft = (isWhole ? undefined : continued(fragment)) ?? begin(fragment);
      // A part that begins with all there was is the name repeated, and not the rest of it.
      draft.name = fragment.name.startsWith(draft.name) ? fragment.name : draft.name + fragment.name;
      draft.id ||= fragment.id;
      draft.text += fragment.text;
      if (fragment.extra) draft.extra ??= fragment.extra;
      if (fragment.id !== '') latestById.set(fragment.id, draft);
      if (draft.index !== undefined) latestByIndex.set(draft.index, draft);
    },
    calls: () =>
      joinNameless(drafts).map(({ id, name, text, extra }) => ({
        id,
        name,
        arguments: text.trim() === '' ? '{}' : text,
        ...(extra && { extra }),
      })),
  };
}

function readFragment(element: unknown): Fragment | undefined {
  const record = asRecord(element);
  if (record === undefined) return undefined;
  const call: JsonRecord = asRecord(record.function) ?? record;
  const fragment = {
    index: typeof record.index === 'number' ? record.index : undefined,
    id: textOf(record.id),
    name: textOf(call.name),
    text: argumentsText(call.arguments),
    extra: asRecord(record.extra_content), // Gemini's; it may come in a fragment of its own.
  };
  const isEmpty = fragment.id === '' && fragment.name === '' && fragment.text === '' && fragment.extra === undefined;
  return isEmpty ? undefined : fragment;
}

/** Arguments as text: some endpoints send them as the object that they stand for. */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** Whether a named fragment cannot belong to a call that has its name already. */
function startsAnother(draft: Draft, { index, name, text, id }: Fragment): boolean {
  if (name === '' || draft.name === '') return false;
  // Two calls under one id, told apart by their index alone.
  if (id !== '' && id === draft.id && index !== undefined && draft.index !== undefined && index !== draft.index)
    return true;
  // A name after the arguments have begun is a new one, unless the endpoint repeats it with every fragment.
  if (name !== draft.name) return draft.text !== '';
  return text.trimStart().startsWith('{') && asRecord(parseJson(draft.text)) !== undefined;
}

/** A call that got no name is what an endpoint makes that gives a new id to every fragment of the one before it. */
function joinNameless(drafts: readonly Draft[]): readonly Draft[] {
  const joined: Draft[] = [];
  for (const draft of drafts) {
    const before = draft.name === '' ? joined.findLast(({ index }) => index === draft.index) : undefined;
    if (before) {
      before.text += draft.text;
      if (draft.extra) before.extra ??= draft.extra;
    } else if (draft.name !== '' || draft.text !== '') joined.push({ ...draft });
  }
  return joined;
}
