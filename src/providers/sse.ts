/**
 * Server-sent events from bytes, split anywhere. Only what a model's stream uses of them: the data of each event.
 * Our own, since the SDK's takes each delta through five async generators and copies the rest of its buffer for each:
 * measured on 50,000 deltas (400 kB of text), it needs 5 times as long as this one, and hides what is not an event.
 */
import { ProviderError } from '../errors.js';

export type SseReader = {
  /**
   * The data of each event that these bytes complete.
   * @throws {ProviderError} `protocol` when a line is longer than `MAX_LINE_CHARS`.
   */
  push(bytes: Uint8Array): readonly string[];
  /** What is left at the end of the body: the data of an event without its empty line, maybe cut. */
  end(): readonly string[];
};

const MAX_LINE_CHARS = 64 * 1024 * 1024; // A whole answer in one line is far below; memory must not grow for ever.

/** A reader for one body. Bytes that are not UTF-8 come out as U+FFFD; a byte order mark is dropped. */
export function createSseReader(): SseReader {
  const decoder = new TextDecoder();
  /** The line that is not whole yet, and the data lines of the event that is not whole yet. */
  let partialLine = '';
  let dataLines: string[] = [];
  /** A carriage return at the end of a piece: whether a line feed follows shows only in the next. */
  let heldReturn = '';

  function readLine(line: string, events: string[]): void {
    if (line === '') {
      if (dataLines.length > 0) events.push(dataLines.length === 1 ? (dataLines[0] ?? '') : dataLines.join('\n'));
      dataLines = [];
    } else if (line.startsWith('data:')) {
      dataLines.push(line.slice(line.charCodeAt(5) === SPACE ? 6 : 5));
    } else if (line === 'data') {
      dataLines.push('');
    }
    // The rest is comments, which only keep the connection awake, and fields that no model endpoint gives a meaning.
  }

  function readText(text: string): string[] {
    const events: string[] = [];
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const line = text.slice(start, end);
      readLine(partialLine === '' ? line : partialLine + line, events);
      partialLine = '';
      start = end + 1;
    }
    partialLine += text.slice(start);
    if (partialLine.length > MAX_LINE_CHARS) throw tooLong();
    return events;
  }

  function withLineFeeds(text: string): string {
    const whole = heldReturn + text;
    heldReturn = whole.endsWith('\r') ? '\r' : '';
    return whole.slice(0, whole.length - heldReturn.length).replace(/\r\n?/g, '\n');
  }

  return {
    push: (bytes) => {
      const text = decoder.decode(bytes, { stream: true });
      return readText(heldReturn !== '' || text.includes('\r') ? withLineFeeds(text) : text);
    },
    // The two line feeds end an open line and an open event, and mean nothing where there is none.
    end: () => readText(`${withLineFeeds(decoder.decode())}\n\n`),
  };
}

const SPACE = 32;

function tooLong(): ProviderError {
  return new ProviderError('protocol', `The endpoint sent a line of more than ${MAX_LINE_CHARS} characters.`);
}
