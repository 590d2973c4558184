import { describe, expect, it } from 'vitest';
import {
  canonicalName,
  flagText,
  GROUPS,
  isFileVariable,
  VARIABLES,
  type Variable,
  type VariableName,
  WORKER_VARIABLES,
  workerVariable,
} from '../../src/config/schema.js';

const KEY = { valid: [['sk-abc_123', 'sk-abc_123']], invalid: ['two words', 'naïve', 'a\u0007b'] } as const;
const TURNS = {
  valid: [
    ['1', 1],
    ['30', 30],
    ['10000', 10_000],
  ],
  invalid: ['0', '-1', '1.5', '10001', 'abc', '1e3', '0x10', ' 1', ''],
} as const;
const COUNT = {
  valid: [
    ['1', 1],
    ['2000000', 2_000_000],
  ],
  invalid: ['0', '-5', '1.5', '1k', '99999999999999999999'],
} as const;
const TIME = {
  valid: [
    ['10m', 600_000],
    ['90', 90_000],
    ['500ms', 500],
  ],
  invalid: ['0', '-1s', '10 minutes', '0ms', '10000h'],
} as const;
const BOOLEAN = {
  valid: [
    ['true', true],
    ['1', true],
    ['yes', true],
    ['ON', true],
    ['False', false],
    ['0', false],
    ['no', false],
    ['off', false],
  ],
  invalid: ['2', 'maybe', 'y', 'enabled'],
} as const;
const URL_ = {
  valid: [
    ['https://api.example.com/v1', 'https://api.example.com/v1'],
    ['http://localhost:11434/v1/', 'http://localhost:11434/v1'],
    ['HTTP://[::1]:8080//', 'HTTP://[::1]:8080'],
  ],
  invalid: [
    'localhost:11434',
    'ftp://example.com',
    'http://',
    'https:example.com',
    '/v1',
    'file:///etc/passwd',
    'https://x.example.com/v1?version=2',
  ],
} as const;
const LINE = {
  valid: [['some text/with:marks', 'some text/with:marks']],
  invalid: ['', 'a\nb', '\u001b[31m'],
} as const;
const USD_PER_MILLION = {
  valid: [
    ['0', 0],
    ['0.25', 0.25],
    ['15', 15],
  ],
  invalid: ['-1', '$3', '1,5', 'free', 'NaN', 'Infinity', '.5'],
} as const;
const ANY = {
  valid: [
    ['1', '1'],
    ['whatever', 'whatever'],
  ],
  invalid: [],
} as const;

const PROXY = {
  valid: [
    ['http://proxy:3128', 'http://proxy:3128'],
    ['https://user:p%40ss@proxy.example.com', 'https://user:p%40ss@proxy.example.com'],
    ['proxy.example.com:3128', 'http://proxy.example.com:3128'],
    ['user:pass@[::1]:8080', 'http://user:pass@[::1]:8080'],
    ['socks5h://127.0.0.1:1080', 'socks5h://127.0.0.1:1080'],
  ],
  invalid: ['', 'http://', 'a b', 'http://proxy:port', '://'],
} as const;
const HEADER_VALUE = { valid: [['org-123 a', 'org-123 a']], invalid: ['', 'a\nb', 'ä'] } as const;

type Forms = {
  readonly valid: readonly (readonly [string, unknown])[];
  readonly invalid: readonly string[];
};

const FORMS: Readonly<Record<VariableName, Forms>> = {
  CHATCLI_PROVIDER: LINE,
  CHATCLI_MODEL: LINE,
  OPENAI_MODEL: LINE,
  CHATCLI_API_KEY: KEY,
  OPENAI_API_KEY: KEY,
  CHATCLI_BASE_URL: URL_,
  OPENAI_BASE_URL: URL_,
  CHATCLI_SCRIPT: LINE,
  CHATCLI_TOOL_PROTOCOL: {
    valid: [
      ['auto', 'auto'],
      ['Native', 'native'],
      ['text', 'text'],
    ],
    invalid: ['none', 'xml', ''],
  },
  OPENAI_ORG_ID: HEADER_VALUE,
  OPENAI_PROJECT_ID: HEADER_VALUE,
  CHATCLI_FALLBACK_MODELS: {
    valid: [
      ['a', ['a']],
      ['openai/gpt-5, b:free ,c', ['openai/gpt-5', 'b:free', 'c']],
    ],
    invalid: ['', ',', 'a,,b', 'a,a', 'a,\u001b[31m'],
  },
  CHATCLI_CONTEXT_WINDOW: {
    valid: [
      ['4000', 4000],
      ['131072', 131_072],
    ],
    invalid: ['3999', '128k', '-1', '128,000'],
  },
  HTTPS_PROXY: PROXY,
  HTTP_PROXY: PROXY,
  ALL_PROXY: PROXY,
  NO_PROXY: ANY,
  CHATCLI_CA_BUNDLE: LINE,
  CHATCLI_HEADERS: {
    valid: [
      ['X-Team: a b', { 'x-team': 'a b' }],
      [
        'Authorization: Basic YTpi\r\n\n  X-Empty:\nX-Url: http://a:1/?b',
        {
          authorization: 'Basic YTpi',
          'x-empty': '',
          'x-url': 'http://a:1/?b',
        },
      ],
    ],
    invalid: ['', 'X-Team', 'X Team: a', ': a', 'X-Team: ä', 'X-A: 1\nx-a: 2'],
  },
  CHATCLI_PRICE_INPUT: USD_PER_MILLION,
  CHATCLI_PRICE_OUTPUT: USD_PER_MILLION,
  OPENROUTER_API_KEY: KEY,
  GROQ_API_KEY: KEY,
  DEEPSEEK_API_KEY: KEY,
  MISTRAL_API_KEY: KEY,
  XAI_API_KEY: KEY,
  MOONSHOT_API_KEY: KEY,
  GEMINI_API_KEY: KEY,
  ANTHROPIC_API_KEY: KEY,
  CHATCLI_AGENT_WORKER_MAX_TURNS: TURNS,
  CHATCLI_AGENT_WORKER_TIMEOUT: TIME,
  CHATCLI_AGENT_PARALLEL_MODE: BOOLEAN,
  CHATCLI_MAX_REQUESTS: COUNT,
  CHATCLI_MAX_TOKENS_TOTAL: COUNT,
  CHATCLI_MAX_BUDGET_USD: {
    valid: [
      ['2.50', 2.5],
      ['10', 10],
    ],
    invalid: ['0', '0.0', '-1', '$5', 'ten'],
  },
  CHATCLI_TIMEOUT: TIME,
  CHATCLI_OPENAI_API: {
    valid: [
      ['auto', 'auto'],
      ['Chat', 'chat'],
      ['RESPONSES', 'responses'],
    ],
    invalid: ['completions', ''],
  },
  CHATCLI_APPROVAL_MODE: {
    valid: [
      ['read-only', 'read-only'],
      ['ask', 'ask'],
      ['Auto-Edit', 'auto-edit'],
      ['full-auto', 'full-auto'],
      ['plan', 'read-only'],
      ['default', 'ask'],
      ['acceptEdits', 'auto-edit'],
      ['yolo', 'full-auto'],
    ],
    invalid: ['readonly', 'auto', 'none', 'constructor', '__proto__'],
  },
  CHATCLI_SANDBOX: {
    valid: [
      ['auto', 'auto'],
      ['Required', 'required'],
      ['off', 'off'],
    ],
    invalid: ['on', 'true', '__proto__', ''],
  },
  CHATCLI_SANDBOX_NETWORK: BOOLEAN,
  CHATCLI_SANDBOX_READ: {
    valid: [
      ['/opt/a', ['/opt/a']],
      ['/opt/a:/opt/b:', ['/opt/a', '/opt/b']],
    ],
    invalid: ['opt/a', '~/a', '/a:b', '/a\u0001'],
  },
  CHATCLI_APPROVAL_TIMEOUT: TIME,
  CHATCLI_SHELL: LINE,
  CHATCLI_UNDO: BOOLEAN,
  CHATCLI_FETCH_ALLOW_HOSTS: {
    valid: [
      ['localhost:3000, 10.0.0.5', ['localhost:3000', '10.0.0.5']],
      ['Build.Corp', ['build.corp']],
      ['[::1]:8080', ['[::1]:8080']],
    ],
    invalid: ['', 'http://localhost', 'a/b', 'me@host', 'host:', 'host:99999', '*', '::1'],
  },
  CHATCLI_MAX_RETRIES: {
    valid: [
      ['0', 0],
      ['3', 3],
      ['20', 20],
    ],
    invalid: ['21', '-1', 'many'],
  },
  CHATCLI_SEND_REASONING: {
    valid: [
      ['auto', 'auto'],
      ['Always', 'always'],
      ['on', 'always'],
      ['never', 'never'],
      ['off', 'never'],
    ],
    invalid: ['yes please', 'sometimes'],
  },
  CHATCLI_FIRST_BYTE_TIMEOUT: TIME,
  CHATCLI_IDLE_TIMEOUT: TIME,
  LOG_LEVEL: {
    valid: [
      ['debug', 'debug'],
      ['INFO', 'info'],
      ['warn', 'warn'],
      ['warning', 'warn'],
      ['error', 'error'],
      ['fatal', 'error'],
      ['trace', 'debug'],
      ['silent', 'silent'],
      ['off', 'silent'],
    ],
    invalid: ['loud', '3', 'debug,info'],
  },
  CHATCLI_LOG_FILE: LINE,
  NO_COLOR: ANY,
  FORCE_COLOR: ANY,
  CHATCLI_HOME: LINE,
  CHATCLI_DOTENV: LINE,
};

const names = Object.keys(VARIABLES) as VariableName[];
const variable = (name: VariableName): Variable => VARIABLES[name];

describe('the schema', () => {
  it('has forms under test for every variable', () => {
    expect(Object.keys(FORMS).toSorted()).toEqual([...names].toSorted());
  });

  it.each(names.flatMap((name) => FORMS[name].valid.map(([text, value]) => [name, text, value] as const)))(
    '%s takes %j as %j',
    (name, text, value) => {
      expect(variable(name).type.parse(text)).toEqual(value);
    },
  );

  it.each(names.flatMap((name) => FORMS[name].invalid.map((text) => [name, text] as const)))(
    '%s refuses %j and says what is allowed',
    (name, text) => {
      const result = variable(name).type.safeParse(text);
      expect(result.success).toBe(false);
      expect(result.error?.issues.map((issue) => issue.message.length > 5)).toEqual([true]);
    },
  );

  it('has only defaults that its own types take', () => {
    const refused = names.filter((name) => {
      const { type, default: value } = variable(name);
      return value !== undefined && !type.safeParse(value).success;
    });
    expect(refused).toEqual([]);
  });

  it('has the defaults that the README promises', () => {
    const defaults = names.flatMap((name) => (variable(name).default ? [[name, variable(name).default]] : []));
    expect(Object.fromEntries(defaults)).toEqual({
      CHATCLI_TOOL_PROTOCOL: 'auto',
      CHATCLI_SANDBOX: 'auto',
      CHATCLI_SANDBOX_NETWORK: 'false',
      CHATCLI_AGENT_WORKER_MAX_TURNS: '30',
      CHATCLI_AGENT_WORKER_TIMEOUT: '10m',
      CHATCLI_OPENAI_API: 'auto',
      CHATCLI_AGENT_PARALLEL_MODE: 'true',
      CHATCLI_UNDO: 'true',
      CHATCLI_APPROVAL_TIMEOUT: '30m',
      CHATCLI_MAX_RETRIES: '3',
      CHATCLI_FIRST_BYTE_TIMEOUT: '120s',
      CHATCLI_IDLE_TIMEOUT: '75s',
      CHATCLI_SEND_REASONING: 'auto',
    });
  });

  it('marks every key as secret, and nothing else', () => {
    expect(names.filter((name) => variable(name).secret)).toEqual(names.filter((name) => name.endsWith('_API_KEY')));
  });

  it('gives each variable a group and a help text of one line', () => {
    for (const name of names) {
      expect(Object.keys(GROUPS)).toContain(variable(name).group);
      expect(variable(name).help).toMatch(/^[^\n|]+\.$/);
    }
  });
});

describe('canonicalName', () => {
  it.each([
    ['https_proxy', 'HTTPS_PROXY'],
    ['no_proxy', 'NO_PROXY'],
    ['HTTPS_PROXY', 'HTTPS_PROXY'],
    ['Https_Proxy', 'Https_Proxy'],
    ['openai_api_key', 'openai_api_key'],
    ['path', 'path'],
  ])('of %s is %s', (name, expected) => {
    expect(canonicalName(name)).toBe(expected);
  });
});

describe('workerVariable', () => {
  it.each([
    ['CHATCLI_AGENT_CODER_MODEL', { worker: 'coder', field: 'model' }],
    ['CHATCLI_AGENT_CODER_MAX_TURNS', { worker: 'coder', field: 'maxTurns' }],
    ['CHATCLI_AGENT_CODER_TIMEOUT', { worker: 'coder', field: 'timeoutMs' }],
    ['CHATCLI_AGENT_CODE_REVIEW_2_TIMEOUT', { worker: 'code-review-2', field: 'timeoutMs' }],
    ['CHATCLI_AGENT_AGENT_MODEL', { worker: 'agent', field: 'model' }],
    ['CHATCLI_AGENT_MODEL_MODEL', { worker: 'model', field: 'model' }],
    ['CHATCLI_AGENT_WORKER_MAX_TURNS', undefined],
    ['CHATCLI_AGENT_WORKER_TIMEOUT', undefined],
    ['CHATCLI_AGENT_WORKER_MODEL', undefined],
    ['CHATCLI_AGENT_WORKER_X_TIMEOUT', undefined],
    ['CHATCLI_AGENT_WORKERS_TIMEOUT', { worker: 'workers', field: 'timeoutMs' }],
    ['CHATCLI_AGENT_PARALLEL_MODE', undefined],
    ['CHATCLI_AGENT_MAX_TURNS', undefined],
    ['CHATCLI_AGENT_TIMEOUT', undefined],
    ['CHATCLI_AGENT__TIMEOUT', undefined],
    ['CHATCLI_AGENT_coder_TIMEOUT', undefined],
    ['XCHATCLI_AGENT_CODER_TIMEOUT', undefined],
  ])('reads %s as %j', (name, expected) => {
    expect(workerVariable(name)).toEqual(expected);
  });

  it.each([
    ['model', LINE],
    ['maxTurns', TURNS],
    ['timeoutMs', TIME],
  ] as const)('holds %s to the same forms as the general variable', (field, forms: Forms) => {
    const { type } = WORKER_VARIABLES[field];
    expect(forms.valid.map(([text]) => type.parse(text))).toEqual(forms.valid.map(([, value]) => value));
    expect(forms.invalid.filter((text) => type.safeParse(text).success)).toEqual([]);
  });
});

describe('isFileVariable', () => {
  it.each([
    ['OPENAI_API_KEY', true],
    ['LOG_LEVEL', true],
    ['CHATCLI_AGENT_CODER_MODEL', true],
    ['CHATCLI_HOME', false],
    ['CHATCLI_DOTENV', false],
    ['NODE_OPTIONS', false],
    ['PATH', false],
    ['LD_PRELOAD', false],
    ['GIT_SSH_COMMAND', false],
    ['constructor', false],
    ['__proto__', false],
  ])('%s: %s', (name, expected) => {
    expect(isFileVariable(name)).toBe(expected);
  });
});

it('flagText writes the flag as typed', () => {
  expect(['model', 'maxTurns', 'maxBudgetUsd'].map(flagText)).toEqual(['--model', '--max-turns', '--max-budget-usd']);
});
