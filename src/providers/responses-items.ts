/**
 * The items of a Responses reply, and which of them an event is about. Endpoints leave out ids, give new ones with each
 * event, or index 0 to every item; so an item is found by its id first, then by its place, then as the last of its kind.
 */
import { asRecord, type JsonRecord, textOf } from './json.js';

type ItemType = 'message' | 'reasoning' | 'function_call';

/** What is known of an item so far. */
export type OutputItem = {
  readonly type: ItemType;
  readonly id: string;
  /** The parts of which something came. */
  readonly parts: Set<string>;
  /** Of its text, in UTF-16 units. */
  chars: number;
  /** Of a call; empty until they come. */
  callId: string;
  name: string;
  text: string;
  /** The item itself, once it has ended. */
  whole: JsonRecord | undefined;
};

export type OutputItems = {
  /** The item that an event of one of its parts is about; a new one where none fits. */
  of(type: ItemType, event: JsonRecord): OutputItem;
  /** The item that an event announces; undefined for kinds that we do not read. */
  begin(item: unknown, index: unknown): OutputItem | undefined;
  /** The item that an event ends, maybe without having been announced. */
  ending(item: unknown, index: unknown): OutputItem | undefined;
  /** The items of a whole response, each with what came of it before. */
  matching(output: readonly JsonRecord[]): readonly (readonly [OutputItem, JsonRecord])[];
  /** In the order in which they began. */
  all(): readonly OutputItem[];
};

const TYPES: readonly ItemType[] = ['message', 'reasoning', 'function_call'];

/** The items of one reply. The work per event does not grow with what came before. */
export function createOutputItems(): OutputItems {
  const items: OutputItem[] = [];
  const byId = new Map<string, OutputItem>();
  const byIndex = new Map<unknown, OutputItem>();
  const latest = new Map<ItemType, OutputItem>();

  function create(type: ItemType, id: string, index: unknown): OutputItem {
    const item: OutputItem = {
      type,
      id,
      parts: new Set(),
      chars: 0,
      callId: '',
      name: '',
      text: '',
      whole: undefined,
    };
    items.push(item);
    if (id !== '') byId.set(id, item);
    if (typeof index === 'number') byIndex.set(index, item);
    latest.set(type, item);
    return item;
  }

  function named(type: ItemType, id: string): OutputItem | undefined {
    const item = byId.get(id);
    return item?.type === type ? item : undefined;
  }

  /** The item of that kind with this id, or else, if it has not ended, at this place. */
  function known(type: ItemType, id: string, index: unknown): OutputItem | undefined {
    const sameId = named(type, id);
    if (sameId) return sameId;
    const samePlace = byIndex.get(index);
    return samePlace?.type === type && samePlace.whole === undefined ? samePlace : undefined;
  }

  return {
    of(type, event) {
      const id = textOf(event.item_id);
      const index = event.output_index;
      const found = known(type, id, index);
      if (found) return found;
      const last = id === '' && index === undefined ? latest.get(type) : undefined;
      return last ?? create(type, id, index);
    },
    begin(value, index) {
      const { type, id } = kindOf(value);
      if (type === undefined) return undefined;
      return named(type, id) ?? create(type, id, index);
    },
    ending(value, index) {
      const { type, id } = kindOf(value);
      if (type === undefined) return undefined;
      const last = id === '' && index === undefined ? latest.get(type) : undefined;
      return known(type, id, index) ?? (last?.whole === undefined ? last : undefined) ?? create(type, id, index);
    },
    matching(output) {
      const seen = new Map<ItemType, number>();
      return output.flatMap((whole) => {
        const { type, id } = kindOf(whole);
        if (type === undefined) return [];
        const place = seen.get(type) ?? 0;
        seen.set(type, place + 1);
        const item =
          named(type, id) ?? items.filter((each) => each.type === type)[place] ?? create(type, id, undefined);
        return [[item, whole] as const];
      });
    },
    all: () => items,
  };
}

function kindOf(value: unknown): { readonly type: ItemType | undefined; readonly id: string } {
  const item = asRecord(value);
  return { type: TYPES.find((type) => type === item?.type), id: textOf(item?.id) };
}
