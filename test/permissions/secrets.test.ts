import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { childEnvironment, createMasker } from '../../src/permissions/secrets.js';

describe('childEnvironment', () => {
  it('passes what programs need and nothing else', () => {
    const parent = {
      PATH: '/usr/bin:/bin',
      HOME: '/home/me',
      LANG: 'C.UTF-8',
      LC_ALL: 'C',
      TZ: 'UTC',
      XDG_CONFIG_HOME: '/home/me/.config',
      TERM: 'xterm-256color',
      COLORTERM: 'truecolor',
      OPENAI_API_KEY: 'sk-1234567890',
      CHATCLI_API_KEY: 'x',
      AWS_SECRET_ACCESS_KEY: 'x',
      NODE_OPTIONS: '--require=./x.js',
      BASH_ENV: './e',
      ENV: './e',
      LD_PRELOAD: './x.so',
      GIT_EXTERNAL_DIFF: './x',
      RIPGREP_CONFIG_PATH: './.rgrc',
      HTTPS_PROXY: 'http://user:pass@proxy',
      XDG_RUNTIME_DIR: '/run/user/1',
      'BASH_FUNC_ls%%': '() { touch pwn; }',
      path: '/x',
      GONE: undefined,
    };
    expect(childEnvironment(parent)).toEqual({
      PATH: '/usr/bin:/bin',
      HOME: '/home/me',
      LANG: 'C.UTF-8',
      LC_ALL: 'C',
      TZ: 'UTC',
      XDG_CONFIG_HOME: '/home/me/.config',
      CHATCLI: '1',
      GIT_PAGER: 'cat',
      GIT_TERMINAL_PROMPT: '0',
      NO_COLOR: '1',
      NO_UPDATE_NOTIFIER: '1',
      PAGER: 'cat',
      TERM: 'dumb',
      npm_config_update_notifier: 'false',
    });
  });

  it('drops relative and empty entries of PATH, which would let a folder replace ls', () => {
    expect(childEnvironment({ PATH: '.:/usr/bin::node_modules/.bin:/bin:' }).PATH).toBe('/usr/bin:/bin');
  });

  it('knows what Windows needs, in any letters', () => {
    const parent = { SystemRoot: 'C:\\Windows', Path: 'C:\\bin;.;D:\\x', ComSpec: 'cmd.exe', Secret: 'x' };
    expect(childEnvironment(parent, { platform: 'win32' })).toMatchObject({
      SystemRoot: 'C:\\Windows',
      Path: 'C:\\bin;D:\\x',
      ComSpec: 'cmd.exe',
    });
    expect(childEnvironment(parent, { platform: 'win32' })).not.toHaveProperty('Secret');
  });
});

describe("what the user's settings add to the environment of commands", () => {
  const parent = {
    PATH: '/bin',
    JAVA_HOME: '/java',
    MY_FLAG: '1',
    MY_TOKEN: 'x',
    my_password: 'x',
    MY_URL: 'https://u:pass@example.com',
    MY_VALUE: 'AKIAIOSFODNN7EXAMPLE',
    OPENAI_API_KEY: 'k',
    CHATCLI_MODEL: 'm',
    BASH_ENV: './e',
    ENV: './e',
    LD_PRELOAD: './x.so',
    DYLD_INSERT_LIBRARIES: './x',
    GIT_EXTERNAL_DIFF: './x',
    NODE_OPTIONS: '--require=./x',
    RIPGREP_CONFIG_PATH: './x',
    NO_COLOR: '0',
    Path_Of_Mine: 'p',
  };
  const own = Object.keys(childEnvironment({}));
  const added = (include: readonly string[], platform: NodeJS.Platform = 'linux') =>
    Object.keys(childEnvironment(parent, { include, platform })).filter(
      (name) => name !== 'PATH' && !own.includes(name),
    );

  it.each([
    ['a name', ['JAVA_HOME'], ['JAVA_HOME']],
    ['a pattern, but no key by name or form', ['MY_*'], ['MY_FLAG']],
    [
      'the pattern for all, but nothing that makes a program load code',
      ['*'],
      ['JAVA_HOME', 'MY_FLAG', 'Path_Of_Mine'],
    ],
    ['a key by its very name', ['MY_TOKEN', 'my_password', 'MY_URL'], ['MY_TOKEN', 'my_password', 'MY_URL']],
    ['a pattern within a name', ['*_HOME', 'M*G'], ['JAVA_HOME', 'MY_FLAG']],
    ['nothing by a part of a name or in other letters', ['JAVA', 'java_home', 'path_of_mine'], []],
  ])('is %s', (_, include, expected) => {
    expect(added(include)).toEqual(expected);
  });

  it('is in any letters on Windows, and never wins over what we set', () => {
    expect(added(['java_home', 'path_OF_*'], 'win32')).toEqual(['JAVA_HOME', 'Path_Of_Mine']);
    expect(childEnvironment(parent, { include: ['NO_COLOR'] }).NO_COLOR).toBe('1');
    expect(childEnvironment({ PATH: '.:/bin' }, { include: ['PATH'] }).PATH).toBe('/bin');
  });
});

const KEY = 'sk-proj+Ab/12?34&xyz';

describe('mask', () => {
  const { mask } = createMasker([KEY, 'short', 'pass"word\\1']);
  it.each([
    ['the value itself', `key=${KEY}.`, 'key=[redacted].'],
    ['each time', `${KEY} ${KEY}`, '[redacted] [redacted]'],
    ['its URL form', `?k=${encodeURIComponent(KEY)}&b`, '?k=[redacted]&b'],
    ['its URL form in lower case', encodeURIComponent(KEY).replace(/%../g, (code) => code.toLowerCase()), '[redacted]'],
    ['its JSON form with escaped slashes', JSON.stringify(KEY).replaceAll('/', '\\/'), '"[redacted]"'],
    ['its base64 form', `x ${Buffer.from(KEY).toString('base64')} y`, 'x [redacted] y'],
    ['its base64url form', Buffer.from(KEY).toString('base64url'), '[redacted]'],
    ['its JSON form', JSON.stringify({ a: 'pass"word\\1' }), '{"a":"[redacted]"}'],
    ['nothing of a short value', 'short', 'short'],
    ['nothing else', 'sk-proj+Ab/12?34', 'sk-proj+Ab/12?34'],
  ])('replaces %s', (_name, text, expected) => {
    expect(mask(text)).toBe(expected);
  });

  it.each([0, 1, 2, 3, 4, 5])('replaces its base64 form behind %i other bytes', (count) => {
    const masked = mask(Buffer.from(`${'u'.repeat(count)}${KEY}${'v'.repeat(count)}`).toString('base64'));
    expect(masked).toContain('[redacted]');
    // At most one byte of the value at each end may be read from what stands around.
    const rest = masked.split('[redacted]').map((part) => Buffer.from(part, 'base64').toString('latin1'));
    expect(rest.every((part) => !part.includes(KEY.slice(0, 2)) && !part.includes(KEY.slice(-2)))).toBe(true);
  });

  it('replaces values that overlap as one', () => {
    const masker = createMasker(['abcdefgh', 'efghijkl', 'aaaaaaaa']);
    expect(masker.mask('-abcdefghijkl-')).toBe('-[redacted]-');
    expect(masker.mask('abcdefghabcdefgh')).toBe('[redacted][redacted]');
    expect(masker.mask(`x${'a'.repeat(30)}x`)).toBe('x[redacted]x');
  });

  it('passes everything when there is nothing to hide', () => {
    const nothing = createMasker([]);
    expect(nothing.mask('text')).toBe('text');
    const stream = nothing.stream();
    expect(stream.push('text') + stream.flush()).toBe('text');
  });
});

describe('the stream form', () => {
  it('never lets a value through, wherever it is cut', () => {
    const { stream } = createMasker([KEY]);
    const text = `before ${KEY} between ${Buffer.from(KEY).toString('base64')} after ${KEY.slice(0, -1)}`;
    for (let cut = 0; cut <= text.length; cut++) {
      const pieces = stream();
      const output = pieces.push(text.slice(0, cut)) + pieces.push(text.slice(cut)) + pieces.flush();
      expect(output).toBe(`before [redacted] between [redacted] after ${KEY.slice(0, -1)}`);
    }
  });

  it('gives what the whole text would give, for any values and any cuts', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 8, maxLength: 11 });
    const property = fc.property(
      fc.array(letters, { minLength: 1, maxLength: 3 }),
      fc.array(fc.oneof(letters, fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 4 })), { maxLength: 12 }),
      (values, pieces) => {
        const masker = createMasker(values);
        const stream = masker.stream();
        const output = pieces.map((piece) => stream.push(piece)).join('') + stream.flush();
        expect(output).toBe(masker.mask(pieces.join('')));
      },
    );
    fc.assert(property, { numRuns: 3_000, seed: 3 });
  });

  it('holds back no more than the longest value, also when values follow each other without end', () => {
    const stream = createMasker(['aaaaaaaa']).stream();
    let output = 0;
    for (let piece = 0; piece < 1_000; piece++) output += stream.push('aaaa').length;
    expect(output).toBe('[redacted]'.length);
    expect(stream.flush()).toBe('');
  });

  it('holds back only what may be the start of a value', () => {
    const stream = createMasker([KEY]).stream();
    expect(stream.push('plain text')).toBe('plain text');
    expect(stream.push(' sk-')).toBe(' ');
    expect(stream.push('other')).toBe('sk-other');
  });

  it('takes 50,000 small pieces in no time', () => {
    const keys = Array.from({ length: 12 }, (_, index) => `sk-proj-${index}-${'abcdefghij'.repeat(5)}`);
    const stream = createMasker(keys).stream();
    const start = performance.now();
    for (let piece = 0; piece < 50_000; piece++) stream.push('some word');
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});
