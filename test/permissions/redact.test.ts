import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactPatterns, redactStream } from '../../src/permissions/redact.js';

const BODY =
  'MIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun\nVTLw7onLRnrq0/IzW7yWR7QkrmBL7jTKEn5u+qKhbwKfBstIs+bMY2Zkp18gnTxK\n';
const PEM = `-----BEGIN RSA PRIVATE KEY-----\n${BODY}-----END RSA PRIVATE KEY-----`;
const JWT =
  'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';

/** Made up, each with what is to be gone of it. */
const SECRETS: readonly (readonly [kind: string, text: string, secret: string])[] = [
  ['api-key', 'sk-proj-abcDEF0123456789_abc-XYZ', 'sk-proj-abcDEF0123456789_abc-XYZ'],
  ['api-key', 'sk-ant-api03-0123456789abcdefghij', 'sk-ant-api03-0123456789abcdefghij'],
  ['api-key', 'gsk_0123456789abcdefghijABCDEFGHIJ', 'gsk_0123456789abcdefghijABCDEFGHIJ'],
  ['api-key', 'sk_live_0123456789abcdefghijABCD', 'sk_live_0123456789abcdefghijABCD'],
  ['token', 'ya29.0123456789abcdefghijABCD', 'ya29.0123456789abcdefghijABCD'],
  ['github-token', 'ghp_0123456789abcdefghijABCDEFGHIJ012345', 'ghp_0123456789abcdefghijABCDEFGHIJ012345'],
  ['github-token', 'gho_0123456789abcdefghijABCDEFGHIJ012345', 'gho_0123456789abcdefghijABCDEFGHIJ012345'],
  [
    'github-token',
    'github_pat_11ABCDEFG0abcdefghij_klmnopqrstuvwxyz0123',
    'github_pat_11ABCDEFG0abcdefghij_klmnopqrstuvwxyz0123',
  ],
  ['aws-key', 'AKIAIOSFODNN7EXAMPLE', 'AKIAIOSFODNN7EXAMPLE'],
  ['google-key', 'AIzaSyA0123456789abcdefghijklmnopqrstuv', 'AIzaSyA0123456789abcdefghijklmnopqrstuv'],
  ['slack-token', 'xoxb-123456789012-abcdefABCDEF', 'xoxb-123456789012-abcdefABCDEF'],
  ['token', 'glpat-0123456789abcdefghij', 'glpat-0123456789abcdefghij'],
  ['jwt', JWT, JWT],
  ['password', 'postgres://someone:hunter2!x@db.example.com/x', 'hunter2!x'],
  ['password', 'https://u:p@ss@example.com', 'p@ss'],
  ['authorization', 'Authorization: Bearer abc.def-123', 'Bearer abc.def-123'],
  ['authorization', '"authorization":"Basic dXNlcjpwYXNz"', 'Basic dXNlcjpwYXNz'],
  ['authorization', '{\\"Proxy-Authorization\\": \\"Token zzz\\"}', 'Token zzz'],
  ['private-key', PEM, BODY],
  ['private-key', PEM.replaceAll('RSA ', 'OPENSSH '), BODY],
  ['private-key', JSON.stringify(PEM), 'MIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun'],
];

const inPieces = (text: string, ...cuts: readonly number[]): string => {
  const { push, flush } = redactStream();
  const borders = [0, ...cuts.toSorted((one, other) => one - other), text.length];
  const pieces = borders.slice(1).map((end, index) => push(text.slice(borders[index], end)));
  return pieces.join('') + flush();
};

describe('a text that is stored', () => {
  it.each(SECRETS)('loses what looks like a %s: %s', (kind, text, secret) => {
    const redacted = redactPatterns(`before ${text} behind`);
    expect(redacted).toContain(`[redacted:${kind}]`);
    expect(redacted).not.toContain(secret);
    expect(redacted.startsWith('before ')).toBe(true);
    expect(redactPatterns(redacted)).toBe(redacted);
  });

  it('keeps what stands around it', () => {
    expect(redactPatterns(`a\n${PEM}\nb ${JWT}, c`)).toBe('a\n[redacted:private-key]\nb [redacted:jwt], c');
    expect(redactPatterns('fetch https://u:p4ss@h.example/x?a=b@c')).toBe(
      'fetch https://u:[redacted:password]@h.example/x?a=b@c',
    );
    expect(redactPatterns('curl -H "Authorization: Bearer abc" http://x\nnext')).toBe(
      'curl -H "Authorization: [redacted:authorization]" http://x\nnext',
    );
    expect(redactPatterns(JSON.stringify({ text: 'key:\nsk-abcdefgh12345678\n' }))).toBe(
      '{"text":"key:\\n[redacted:api-key]\\n"}',
    );
  });

  it('loses a private key that was cut off, up to where something else begins', () => {
    expect(redactPatterns(`-----BEGIN PRIVATE KEY-----\n${BODY}[cut] rest`)).toBe('[redacted:private-key][cut] rest');
  });

  it.each([
    'risk-assessment-of-the-whole-2024-project',
    '.sk-fading-circle-and-more-words',
    'http://localhost:8080/a@b',
    'git@github.com:owner/repository.git',
    '-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----',
    'see the docs on authorization for more',
    'AKIA is how they begin, and eyJ how others do',
    'a.b.c = 1.2.3',
  ])('is left alone where it only looks a little like it: %s', (text) => {
    expect(redactPatterns(text)).toBe(text);
  });
});

describe('a stored text that comes in pieces', () => {
  it.each(SECRETS)('loses a %s wherever it is cut: %s', (_, text, secret) => {
    const whole = `before ${text} behind`;
    const expected = redactPatterns(whole);
    for (let cut = 0; cut <= whole.length; cut += 1) expect(inPieces(whole, cut)).toBe(expected);
    expect(inPieces(whole, ...Array.from({ length: whole.length }, (_cut, index) => index))).toBe(expected);
    expect(expected).not.toContain(secret);
  });

  it('is the same as in one piece, whatever it holds', () => {
    const part = fc.oneof(
      fc.constantFrom(...SECRETS.map(([, text]) => text)),
      fc.constantFrom(
        'sk-',
        'eyJ',
        '://',
        '-----BEGIN PRIVATE KEY-----',
        'authorization: ',
        '@',
        '.',
        '\n',
        ' ',
        '\\n',
        '"',
      ),
      fc.string({ maxLength: 20 }),
      fc.tuple(fc.constantFrom('x', 'word ', 'A1b-'), fc.nat(3000)).map(([text, count]) => text.repeat(count)),
    );
    const property = fc.property(fc.array(part, { maxLength: 12 }), fc.array(fc.nat()), (parts, cuts) => {
      const text = parts.join('');
      const places = cuts.map((cut) => cut % (text.length + 1));
      expect(inPieces(text, ...places)).toBe(redactPatterns(text));
    });
    fc.assert(property, { numRuns: 150 });
  });

  it('comes out in the main before its end, and goes on after one', () => {
    const { push, flush } = redactStream();
    const out = push('words and words\n'.repeat(1000));
    expect(out.length).toBeGreaterThan(10_000);
    expect((out + flush()).length).toBe(16_000);
    expect(push('sk-abcdefgh12345678') + flush()).toBe('[redacted:api-key]');
  });

  it('does not collect a token without end', () => {
    const { push, flush } = redactStream();
    let out = push('key: sk-0');
    for (let count = 0; count < 300; count += 1) out += push('a1'.repeat(1000));
    expect(out).toBe('key: [redacted:api-key]');
    expect(out + push(' and on') + flush()).toBe('key: [redacted:api-key] and on');
  });
});

describe('the time it takes', () => {
  /** Each would make a careless expression try without end; a test runner's own limit ends this one. */
  it.each([
    ['words', 'lorem ipsum '],
    ['one letter', 'a'],
    ['beginnings of keys', 'sk-'],
    ['beginnings of keys, apart', ' sk-aaaaaaaaaaaaaaa'],
    ['beginnings of JWTs', 'eyJ'],
    ['beginnings of JWTs, apart', 'eyJaaaaaaaaaa.'],
    ['URLs', 'http://'],
    ['URLs with half a password', '://a:'],
    ['a long password', `://a:${'b'.repeat(600)}`],
    ['headers', 'authorization:'],
    ['private keys without end', '-----BEGIN PRIVATE KEY-----'],
    ['private keys with a gap', '-----BEGIN PRIVATE KEY-----[]'],
    ['dashes', '-----'],
    ['escapes', '\\n'],
  ])('grows with the length only: %s', (_, unit) => {
    const text = unit.repeat(Math.ceil((10 * 1024 * 1024) / unit.length));
    expect(redactPatterns(text).length).toBeGreaterThan(0);
    const { push, flush } = redactStream();
    let length = 0;
    for (let at = 0; at < text.length / 5; at += 65_536) length += push(text.slice(at, at + 65_536)).length;
    expect(length + flush().length).toBeGreaterThan(0);
  });
});
