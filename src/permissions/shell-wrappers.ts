/** Programs that run another one that is named by their arguments, as data: their flags, and what stands before it. */

/**
 * Whether a flag stands alone, takes a value (the next word where nothing is attached), has one only attached, gives a
 * text to run, or turns a text into separate words.
 */
type FlagKind = 'alone' | 'value' | 'attached' | 'text' | 'argv';

export type Wrapper = {
  readonly flags: ReadonlyMap<string, FlagKind>;
  /** How many words come before the program. */
  readonly operands?: number;
  /** `NAME=VALUE` may come before it. */
  readonly assigns?: true;
  /** Whether the words behind are put together to a text for a shell. */
  readonly runs?: 'text';
  /** With one of these it runs nothing. */
  readonly prints?: readonly string[];
  /** Without a program it runs what it reads. */
  readonly readsInput?: true;
  /** In the place of the program: a text follows. */
  readonly textOption?: string;
};

type Spec = Omit<Wrapper, 'flags'> & {
  readonly alone?: string;
  readonly value?: string;
  readonly attached?: string;
  readonly text?: string;
  readonly argv?: string;
};

/** Names are separated by blanks: letters, or long names without their dashes. */
function wrapper({ alone = '', value = '', attached = '', text = '', argv = '', ...rest }: Spec): Wrapper {
  const kinds: readonly (readonly [string, FlagKind])[] = [
    [alone, 'alone'],
    [value, 'value'],
    [attached, 'attached'],
    [text, 'text'],
    [argv, 'argv'],
  ];
  const flags = new Map<string, FlagKind>();
  for (const [names, kind] of kinds) {
    for (const name of names.split(' ').filter((name) => name !== '')) {
      flags.set(name === '-' ? name : name.length === 1 ? `-${name}` : `--${name}`, kind);
    }
  }
  return { flags, ...rest };
}

const DIGITS = '0 1 2 3 4 5 6 7 8 9';
const TIMEOUT = wrapper({
  alone: 'f p v foreground preserve-status verbose',
  value: 'k s kill-after signal',
  operands: 1,
});
const NICE = wrapper({ alone: DIGITS, value: 'n adjustment' });
const TIME = wrapper({
  alone: 'a p q v l h append portability quiet verbose',
  value: 'f o format output',
});
const SUDO = wrapper({
  alone:
    'A b B E e H i K k l n N P S s V v askpass background bell edit login non-interactive preserve-groups reset-timestamp set-home shell stdin validate',
  value: 'C D R T U a c g h p r t u chdir chroot close-from group host other-user prompt role type user',
  attached: 'preserve-env',
  assigns: true,
});
const XARGS = wrapper({
  alone: '0 o p r t x null open-tty interactive no-run-if-empty verbose exit show-limits',
  value: 'a d E I J L n P R S s arg-file delimiter max-lines max-args max-procs max-chars process-slot-var',
  attached: 'e i l eof replace',
});

export const WRAPPERS: ReadonlyMap<string, Wrapper> = new Map(
  Object.entries({
    env: wrapper({
      alone: '- 0 i v null ignore-environment debug list-signal-handling',
      value: 'C L P U u chdir unset',
      attached: 'block-signal default-signal ignore-signal',
      text: 'S split-string',
      assigns: true,
    }),
    timeout: TIMEOUT,
    gtimeout: TIMEOUT,
    nice: NICE,
    gnice: NICE,
    nohup: wrapper({}),
    time: TIME,
    gtime: TIME,
    command: wrapper({ alone: 'p', prints: ['-v', '-V', '-pv', '-pV', '-vp', '-Vp'] }),
    builtin: wrapper({}),
    exec: wrapper({ alone: 'c l', value: 'a' }),
    stdbuf: wrapper({ value: 'e i o error input output' }),
    setsid: wrapper({ alone: 'c f w ctty fork wait' }),
    ionice: wrapper({ alone: 't ignore', value: 'c n class classdata', prints: ['-p', '--pid'] }),
    chrt: wrapper({ alone: 'b d f i o r R v batch deadline fifo idle other rr reset-on-fork verbose', operands: 1 }),
    taskset: wrapper({ alone: 'c cpu-list', operands: 1 }),
    sudo: SUDO,
    doas: wrapper({ alone: 'L n s', value: 'C a u' }),
    pkexec: wrapper({ alone: 'disable-internal-agent keep-cwd', value: 'user' }),
    fakeroot: wrapper({}),
    chroot: wrapper({ value: 'groups userspec', alone: 'skip-chdir', operands: 1 }),
    unshare: wrapper({
      alone: 'C T U c f i m n p r u fork map-root-user mount net pid user',
      value: 'R S G w root wd',
    }),
    xargs: XARGS,
    gxargs: XARGS,
    watch: wrapper({
      alone: 'b c e g p t w beep color errexit chgexit precise no-title no-wrap',
      value: 'n q interval equexit',
      attached: 'd differences',
      argv: 'x exec',
      runs: 'text',
    }),
    flock: wrapper({
      alone: 'F e n o s u v x close exclusive no-fork nonblock nb shared unlock verbose',
      value: 'E w conflict-exit-code timeout wait',
      operands: 1,
      textOption: '-c',
    }),
    script: wrapper({ alone: 'a e f q append flush quiet return', text: 'c command', operands: 1 }),
    strace: wrapper({ alone: 'C T c d f i k q r t v w y follow-forks', value: 'E I O P S X a b e o p s u output' }),
    ltrace: wrapper({ alone: 'C S T c f i r t', value: 'a e l n o p s u x' }),
    parallel: wrapper({ value: 'j', readsInput: true }),
    caffeinate: wrapper({ alone: 'd i m s u', value: 't w' }),
    unbuffer: wrapper({ alone: 'p' }),
    'dbus-run-session': wrapper({}),
    'xvfb-run': wrapper({ alone: 'a', value: 'n s e f p w' }),
  }),
);
