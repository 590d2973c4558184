import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSseReader } from '../../src/providers/sse.js';

/** All events of a body that arrives in these pieces. */
function read(...pieces: (string | Uint8Array)[]): string[] {
  const reader = createSseReader();
  const events = pieces.flatMap((piece) => [...reader.push(Buffer.from(piece as string))]);
  return [...events, ...reader.end()];
}

describe('a stream of events', () => {
  it.each<[string, string, string[]]>([
    ['gives the data of each event', 'data: a\n\ndata: b\n\n', ['a', 'b']],
    ['may end its lines with CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['may end its lines with CR alone', 'data: a\r\rdata: b\r\r', ['a', 'b']],
    ['may have no blank behind the colon', 'data:a\n\ndata:  b\n\n', ['a', ' b']],
    ['may hold comments anywhere', ': hi\n\ndata: a\n: between\ndata: b\n\n:\n\n', ['a\nb']],
    ['joins the lines of one event', 'data: {\ndata: }\n\n', ['{\n}']],
    ['may hold fields that mean nothing here', 'event: x\nid: 7\nretry: 10\nfoo: bar\ndata: a\n\n', ['a']],
    ['may begin with a byte order mark', '\uFEFFdata: a\n\n', ['a']],
    ['may end without its last empty line', 'data: a\n\ndata: b', ['a', 'b']],
    ['may end within CRLF', 'data: a\r\n\r', ['a']],
    ['may hold empty data', 'data:\n\ndata\n\n', ['', '']],
    ['may hold nothing', '', []],
    ['may hold only empty lines', '\n\n\r\n\r\n', []],
    ['keeps what looks like a line end to others', 'data: a\u2028b\n\n', ['a\u2028b']],
  ])('%s', (_name, body, expected) => {
    expect(read(body)).toEqual(expected);
  });

  it('means the same however its bytes are split', () => {
    const body = Buffer.from('\uFEFF: c\r\ndata: {"x":"修复 🛠️"}\r\n\r\ndata:é\n\n\rdata: 1\rdata: 2\r\r\ndata: [DONE]');
    const whole = read(body);
    expect(whole).toEqual(['{"x":"修复 🛠️"}', 'é', '1\n2', '[DONE]']);
    for (let at = 0; at <= body.length; at += 1) expect(read(body.subarray(0, at), body.subarray(at))).toEqual(whole);
    expect(read(...[...body].map((byte) => Buffer.of(byte)))).toEqual(whole);
    fc.assert(
      fc.property(fc.array(fc.nat(body.length), { maxLength: 8 }), (cuts) => {
        const places = [0, ...cuts.sort((left, right) => left - right), body.length];
        const pieces = places.slice(1).map((end, index) => body.subarray(places[index], end));
        expect(read(...pieces)).toEqual(whole);
      }),
    );
  });

  it('is read without waiting for what follows', () => {
    const reader = createSseReader();
    expect(reader.push(Buffer.from('data: a\n'))).toEqual([]);
    expect(reader.push(Buffer.from('\nda'))).toEqual(['a']);
    expect(reader.push(Buffer.from('ta: b\n\n'))).toEqual(['b']);
    expect(reader.end()).toEqual([]);
  });
});
