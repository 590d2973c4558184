/** A folder as an indented tree. Filled level by level, so that one full folder does not hide its neighbours. */
import { readlink } from 'node:fs/promises';
import { type Entry, type FolderReader, safeName } from '../walk.js';
import type { Listing } from './by-pattern.js';

const MAX_ENTRIES = 500; // About 3k tokens.

type Node = { readonly entry: Entry; children: readonly Node[] | undefined };

export async function listTree(options: {
  readonly reader: FolderReader;
  readonly base: string;
  readonly depth: number;
  readonly signal: AbortSignal;
}): Promise<Listing> {
  const { reader, signal } = options;
  const top: Node = { entry: { name: '', path: options.base, kind: 'folder' }, children: undefined };
  const count = { shown: 0, hidden: 0, ignored: 0, withheld: 0, cut: 0 };
  let level: readonly Node[] = [top];
  for (let depth = 0; depth < options.depth && level.length > 0; depth++) {
    const next: Node[] = [];
    for (const node of level) {
      signal.throwIfAborted();
      if (count.shown >= MAX_ENTRIES) break;
      const content = await reader.read(node.entry.path);
      if (content.isUnreadable) continue;
      const entries = content.entries.slice(0, MAX_ENTRIES - count.shown);
      count.shown += entries.length;
      count.cut += content.entries.length - entries.length;
      count.hidden += content.hiddenCount;
      count.ignored += content.ignoredCount;
      count.withheld += content.withheldCount;
      node.children = entries.map((entry) => ({ entry, children: undefined }));
      next.push(...node.children.filter(({ entry }) => entry.kind === 'folder'));
    }
    level = next;
  }
  const lines = await linesOf(top, '');
  const left = [
    ...(count.hidden > 0 ? [`${count.hidden} hidden`] : []),
    ...(count.ignored > 0 ? [`${count.ignored} ignored`] : []),
    ...(count.withheld > 0 ? [`${count.withheld} that a rule forbids to read`] : []),
  ];
  const notes = [
    ...(lines.some((line) => line.endsWith('/ …')) ? ['… marks a folder that was not opened'] : []),
    ...(count.shown >= MAX_ENTRIES ? [`cut at ${MAX_ENTRIES} entries; list a folder below, or give a pattern`] : []),
    ...(left.length > 0 ? [`left out: ${left.join(', ')}`] : []),
  ];
  return { lines, notes };
}

async function linesOf(node: Node, indent: string): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const child of node.children ?? []) {
    lines.push(indent + (await describe(child)));
    if (child.children !== undefined) lines.push(...(await linesOf(child, `${indent}  `)));
  }
  return lines;
}

async function describe({ entry, children }: Node): Promise<string> {
  const name = safeName(entry.name);
  switch (entry.kind) {
    case 'folder':
      return children === undefined ? `${name}/ …` : `${name}/`;
    case 'link':
      return `${name} -> ${safeName(await readlink(entry.path).catch(() => '?'))}`;
    case 'other':
      return `${name} (not a regular file)`;
    case 'file':
      return name;
    default:
      return entry.kind satisfies never;
  }
}
