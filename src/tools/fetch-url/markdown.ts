/** HTML as Markdown, by turndown. A page that is made to take for ever gets a time limit, and comes as bare text. */
import { createContext, Script } from 'node:vm';
import type TurndownService from 'turndown';
import { decodeEntities, plainText, withoutUnread } from './strip-html.js';

export type Page = {
  readonly text: string;
  readonly title: string | undefined;
  /** It was too much for turndown: the text has neither links nor headings. */
  readonly isBare: boolean;
  /** It is only the beginning. */
  readonly isCut: boolean;
};

/** What of a node is looked at here; the types of turndown mean those of a browser, which nobody has here. */
type Element = {
  getAttribute(name: string): string | null;
  querySelector(selector: string): unknown;
};

/** Turndown goes through a deep tree in the square of its depth; an ordinary page of this size takes a second. */
const MAX_CHARACTERS = 1_500_000;
const TIME_LIMIT_MS = 2_000;
const MAX_BARE_CHARACTERS = 500_000;
const HEAD_CHARACTERS = 100_000; // Where a title and a base are looked for.

/** Takes at most about `TIME_LIMIT_MS`, during which nothing else runs. */
export async function htmlToMarkdown(html: string, url: string): Promise<Page> {
  const lean = withoutUnread(html);
  const head = lean.slice(0, HEAD_CHARACTERS);
  const title = titleOf(head);
  const markdown = lean.length > MAX_CHARACTERS ? undefined : await convert(lean, baseOf(head, url));
  const text = (markdown ?? plainText(lean.slice(0, MAX_BARE_CHARACTERS)))
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  const isBare = markdown === undefined;
  return { text, title, isBare, isCut: isBare && lean.length > MAX_BARE_CHARACTERS };
}

/** Undefined where it takes too long or nests too deep. */
async function convert(html: string, base: string): Promise<string | undefined> {
  const service = await createService(base);
  let markdown: string | undefined;
  const context = createContext({
    convert: () => {
      markdown = service.turndown(html);
    },
  });
  try {
    // Only the limit of a script that calls it can interrupt a function.
    new Script('convert()').runInContext(context, { timeout: TIME_LIMIT_MS });
    return markdown;
  } catch {
    return undefined;
  }
}

async function createService(base: string): Promise<TurndownService> {
  const { default: Turndown } = await import('turndown');
  const service = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-', hr: '---' });
  // A model reads `snake_case` better without backslashes, and nobody renders this.
  service.escape = (text) => text;
  service.remove((node) => UNWANTED.has(node.nodeName) || node.hasAttribute('hidden'));
  service.addRule('link', {
    filter: (node) => node.nodeName === 'A' && node.hasAttribute('href'),
    replacement: (content, node) => linked(content, absolute((node as Element).getAttribute('href'), base)),
  });
  service.addRule('image', {
    filter: 'img',
    replacement: (_, node) => {
      const image = node as Element;
      const source = absolute(image.getAttribute('src'), base);
      const words = (image.getAttribute('alt') ?? '').replace(/\s+/g, ' ').trim();
      return source === undefined ? words : `![${words}](${source})`;
    },
  });
  service.addRule('cell', {
    filter: ['th', 'td'],
    replacement: (content) => ` ${content.trim().replace(/\s*\n\s*/g, ' ')} |`,
  });
  service.addRule('row', {
    filter: 'tr',
    replacement: (content, node) => {
      const isHead = !(node as Element).querySelector('td');
      return `|${content}\n${isHead ? `|${content.replace(/[^|]+\|/g, ' --- |')}\n` : ''}`;
    },
  });
  service.addRule('table', {
    filter: 'table',
    replacement: (content) => `\n\n${content.replace(/\n{2,}/g, '\n')}\n\n`,
  });
  return service;
}

const UNWANTED: ReadonlySet<string> = new Set([
  ...['TITLE', 'NAV', 'SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'IFRAME', 'OBJECT', 'EMBED', 'BUTTON', 'SELECT'],
  ...['CANVAS', 'SVG', 'svg'],
]);

function linked(content: string, target: string | undefined): string {
  const words = content.trim().replace(/\s*\n\s*/g, ' ');
  if (words === '' || target === undefined) return words;
  return words === target ? `<${target}>` : `[${words}](${target})`;
}

/** Where a link leads; undefined for what leads nowhere one could go: places in the page itself, scripts, data. */
function absolute(reference: string | null, base: string): string | undefined {
  const text = reference?.trim() ?? '';
  if (text === '' || text.startsWith('#') || !URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  return ['http:', 'https:', 'mailto:', 'ftp:'].includes(url.protocol) ? url.href : undefined;
}

function titleOf(html: string): string | undefined {
  const title = /<title\b[^<>]*>([^<]{1,1000})<\/title/i.exec(html)?.[1];
  return title && decodeEntities(title).replace(/\s+/g, ' ').trim();
}

/** A page may say itself what its links count from. */
function baseOf(html: string, url: string): string {
  const href = /<base\b[^<>]{0,2000}?\bhref\s*=\s*["']?([^"'<>\s]{1,2000})/i.exec(html)?.[1];
  return href !== undefined && URL.canParse(href, url) ? new URL(href, url).href : url;
}
