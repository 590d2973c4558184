/** What hostile files and commands print, at a terminal and in every format: it never acts on the terminal. */
import { describe, expect, it } from 'vitest';
import { calls, says } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { atTerminal } from './pseudo-terminal.js';
import { lastResult, resultsIn } from './reading.js';
import { play, serve } from './support.js';

const ESC = '\u001b';
const HOSTILE = [
  `${ESC}]0;title\u0007`,
  `${ESC}]52;c;cHduZWQ=\u0007`,
  `${ESC}]8;;http://evil.example/${ESC}\\link${ESC}]8;;${ESC}\\`,
  `${ESC}[2J${ESC}[8mhidden${ESC}[0m`,
  `${ESC}P+q544e${ESC}\\`,
  `${ESC}[?1049h${ESC}[?1000h`,
  '\u009b2J\u009d0;c1\u009c',
  'safe\rgone\b\b\b\b',
  '\u202eltr\u2066iso\u2069',
  'zero\u200bwidth\ufeff',
  `tag\u{e0041}\u{e007f}`,
].join('\n');
/** What acts on a terminal or hides something; colours of our own are let pass. */
const ACTING =
  /\u001b(?!\[[\d;]*m)|[\u0080-\u009f\u0007\b\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/u;

const TURNS = [calls('shell', { command: 'cat evil' }), calls('read_file', { path: 'evil' }), says(`ok ${HOSTILE}`)];

describe('output that holds control sequences', () => {
  it.each(['text', 'json', 'stream-json'])('has none left as %s, on either stream [A39]', async (format) => {
    const run = await play(TURNS, ['coder', 'x', '--output-format', format, '--verbose'], { files: { evil: HOSTILE } });

    expect(resultsIn(run.requests[1])[0]).toContain('hidden');
    expect(lastResult(run)).toContain('hidden');
    expect([run.stdout, run.stderr].map((text) => ACTING.exec(text)?.[0])).toEqual([undefined, undefined]);
    expect(run.stdout).not.toContain(ESC);
    // JSON may name them by their numbers, but what it then says is what a reader will print.
    for (const line of format === 'text' ? [] : run.stdout.trim().split('\n')) JSON.parse(line);
  });

  it('does nothing to the terminal that the run is watched on [A39] [pain 51]', async () => {
    const place = makePlace({ evil: HOSTILE });
    const server = await serve(TURNS);
    const run = atTerminal([], { place, server, line: 'exec chatcli coder x --verbose' });
    const { exitCode } = await run.ended;

    expect(exitCode).toBe(0);
    expect(run.raw()).toContain('hidden');
    expect(ACTING.exec(run.raw())?.[0]).toBeUndefined();
    expect(run.raw()).not.toContain(`${ESC}[8m`);
  });
});
