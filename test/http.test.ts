import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createHttpClient, HttpError, type HttpResponse } from '../src/http.js';

const LIMITS = { firstByteTimeoutMs: 5_000, idleTimeoutMs: 5_000 };
const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serve = (handler: RequestListener) => listen(createServer({ keepAliveTimeout: 60_000 }, handler));
const serveSockets = (handler: (socket: Socket) => void) => listen(createSocketServer(handler));

function client(limits: Partial<typeof LIMITS> & { headers?: Record<string, string> } = {}) {
  const http = createHttpClient({ ...LIMITS, ...limits });
  closers.push(http.close);
  return http;
}

async function readAll(response: HttpResponse): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const bytes of response.body) parts.push(bytes);
  return Buffer.concat(parts).toString();
}

async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (thrown) {
    return thrown;
  }
  throw new Error('It did not fail.');
}

const faultOf = async (work: Promise<unknown>) => {
  const thrown = await thrownBy(work);
  return thrown instanceof HttpError ? thrown.fault : thrown;
};

describe('a request', () => {
  it('sends method, headers and body, and hands back status, headers and bytes', async () => {
    let seen: unknown;
    const url = await serve((request, response) => {
      let body = '';
      request.on('data', (part) => {
        body += part;
      });
      request.on('end', () => {
        const { 'x-a': a, 'x-b': b, 'content-length': length } = request.headers;
        seen = { method: request.method, path: request.url, a, b, length, body };
        response.writeHead(201, { 'X-Answer': 'yes', 'set-cookie': ['a=1', 'b=2'] }).end('größer');
      });
    });
    const http = client({ headers: { 'x-a': 'client', 'x-b': 'client' } });
    const response = await http.fetch(`${url}/v1/x?y=1`, { method: 'POST', headers: { 'x-b': 'own' }, body: 'é' });
    expect(seen).toEqual({ method: 'POST', path: '/v1/x?y=1', a: 'client', b: 'own', length: '2', body: 'é' });
    expect([response.status, response.ok, response.url]).toEqual([201, true, `${url}/v1/x`]);
    expect(response.headers.get('X-ANSWER')).toBe('yes');
    expect(response.headers.get('x-none')).toBeNull();
    expect(Object.fromEntries(response.headers.entries())).toMatchObject({ 'set-cookie': 'a=1, b=2' });
    expect(await response.text()).toBe('größer');
  });

  it('uses one connection for requests that follow each other', async () => {
    const ports = new Set<number | undefined>();
    const url = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      response.end('ok');
    });
    const http = client();
    for (let count = 0; count < 5; count += 1) expect(await (await http.fetch(url)).text()).toBe('ok');
    expect(ports.size).toBe(1);
  });

  it('is sent again on a new connection when the server closed the kept one just then', async () => {
    let connections = 0;
    const url = await serveSockets((socket) => {
      connections += 1;
      let requests = 0;
      socket.on('error', () => {});
      socket.on('data', () => {
        requests += 1;
        if (requests === 2) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok');
      });
    });
    const http = client();
    expect(await (await http.fetch(url)).text()).toBe('ok');
    expect(await (await http.fetch(url, { method: 'POST', body: '{}' })).text()).toBe('ok');
    expect(connections).toBe(2);
  });

  it('cuts a text at the limit and drops the rest', async () => {
    const url = await serve((_request, response) => {
      response.write('x'.repeat(200_000));
    });
    const text = await (await client().fetch(url)).text(1000);
    expect(text.length).toBeGreaterThanOrEqual(1000);
    expect(text.length).toBeLessThan(200_000);
  });

  it('decodes characters that are split between pieces', async () => {
    const bytes = Buffer.from('修复 🛠️');
    const url = await serve(async (_request, response) => {
      for (const byte of bytes) {
        response.write(Buffer.of(byte));
        await sleep(1);
      }
      response.end();
    });
    expect(await (await client().fetch(url)).text()).toBe('修复 🛠️');
  });
});

describe('a body that is not wanted to its end', () => {
  it('drops the connection when the loop is left', async () => {
    let isClosed = false;
    const url = await serve((request, response) => {
      request.socket.on('close', () => {
        isClosed = true;
      });
      response.write('first');
    });
    for await (const _bytes of (await client().fetch(url)).body) break;
    await sleep(50);
    expect(isClosed).toBe(true);
  });

  it('keeps the connection when it is released and ends soon', async () => {
    const ports = new Set<number | undefined>();
    const url = await serve(async (request, response) => {
      ports.add(request.socket.remotePort);
      response.write('first');
      await sleep(20);
      response.end('rest');
    });
    const http = client();
    for (let count = 0; count < 3; count += 1) {
      const response = await http.fetch(url);
      for await (const _bytes of response.body) {
        response.release();
        break;
      }
    }
    expect(ports.size).toBe(1);
  });

  it('drops the connection when it is released and does not end', async () => {
    let isClosed = false;
    const url = await serve((request, response) => {
      request.socket.on('close', () => {
        isClosed = true;
      });
      response.write('first');
    });
    const response = await client().fetch(url);
    response.release();
    await sleep(150);
    expect(isClosed).toBe(true);
  });
});

describe('time limits', () => {
  it('end a request that is not answered', async () => {
    const url = await serve(() => {});
    const thrown = await thrownBy(client({ firstByteTimeoutMs: 60 }).fetch(`${url}/v1?key=secret`));
    expect(thrown).toMatchObject({ fault: 'first-byte-timeout', message: `${url}/v1 did not answer within 0.06 s.` });
  });

  it('count the first byte of the body, not the headers', async () => {
    const url = await serve((_request, response) => response.flushHeaders());
    const response = await client({ firstByteTimeoutMs: 60, idleTimeoutMs: 5 }).fetch(url);
    expect(await faultOf(response.text())).toBe('first-byte-timeout');
  });

  it('give the first byte the longer limit, although the headers are there', async () => {
    const url = await serve(async (_request, response) => {
      response.flushHeaders();
      await sleep(150);
      response.end('late');
    });
    expect(await (await client({ idleTimeoutMs: 30 }).fetch(url)).text()).toBe('late');
  });

  it('end a body that falls silent', async () => {
    const url = await serve((_request, response) => response.write('one'));
    const thrown = await thrownBy(client({ idleTimeoutMs: 60 }).fetch(url).then(readAll));
    expect(thrown).toMatchObject({ fault: 'idle-timeout', message: `${url}/ stopped sending for 0.06 s.` });
  });

  it('are fed by every byte, of comments too', async () => {
    const url = await serve(async (_request, response) => {
      for (let count = 0; count < 12; count += 1) {
        response.write(':\n');
        await sleep(30);
      }
      response.end('end');
    });
    expect(await client({ idleTimeoutMs: 150 }).fetch(url).then(readAll)).toBe(`${':\n'.repeat(12)}end`);
  });

  it('do not run while the reader is busy with what it has', async () => {
    const url = await serve(async (_request, response) => {
      response.write('one');
      await sleep(20);
      response.end('two');
    });
    const parts: string[] = [];
    for await (const bytes of (await client({ idleTimeoutMs: 60 }).fetch(url)).body) {
      parts.push(Buffer.from(bytes).toString());
      await sleep(120);
    }
    expect(parts.join('')).toBe('onetwo');
  });

  it('of more than Node can count mean none', async () => {
    const url = await serve((_request, response) => response.end('ok'));
    const http = client({ firstByteTimeoutMs: Number.POSITIVE_INFINITY, idleTimeoutMs: 2 ** 40 });
    expect(await (await http.fetch(url)).text()).toBe('ok');
  });
});

describe('an abort', () => {
  const reason = new Error('enough');

  it('before the start sends nothing', async () => {
    let requests = 0;
    const url = await serve((_request, response) => {
      requests += 1;
      response.end();
    });
    expect(await thrownBy(client().fetch(url, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(requests).toBe(0);
  });

  it('while waiting for the answer throws the reason at once', async () => {
    const url = await serve(() => {});
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 30);
    expect(await thrownBy(client().fetch(url, { signal: controller.signal }))).toBe(reason);
  });

  it('while reading the body throws the reason at once', async () => {
    const url = await serve((_request, response) => response.write('one'));
    const controller = new AbortController();
    const response = await client().fetch(url, { signal: controller.signal });
    setTimeout(() => controller.abort('a plain text'), 30);
    expect(await thrownBy(readAll(response))).toBe('a plain text');
  });

  it('while the reader is busy throws the reason at the next piece', async () => {
    const url = await serve((_request, response) => response.write('one'));
    const controller = new AbortController();
    const response = await client().fetch(url, { signal: controller.signal });
    const work = (async () => {
      for await (const _bytes of response.body) controller.abort(reason);
    })();
    expect(await thrownBy(work)).toBe(reason);
  });

  it('after the end is nothing, and no listener is left on the signal', async () => {
    const url = await serve((_request, response) => response.end('ok'));
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...rest: Parameters<typeof add>) => {
      listeners += 1;
      add(...rest);
    };
    signal.removeEventListener = (...rest: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...rest);
    };
    const http = client();
    for (let count = 0; count < 3; count += 1) await (await http.fetch(url, { signal })).text();
    expect(listeners).toBe(0);
    controller.abort(reason);
    expect(await (await http.fetch(url)).text()).toBe('ok');
  });
});

describe('a fault', () => {
  it('of the URL is told without a request', async () => {
    expect(await faultOf(client().fetch('127.0.0.1:80/v1'))).toBe('bad-url');
    expect(await faultOf(client().fetch('file:///etc/passwd'))).toBe('bad-url');
  });

  it('of a refused connection is told, with its cause', async () => {
    const url = await serve(() => {});
    for (const close of closers.splice(0)) close();
    const thrown = await thrownBy(client().fetch(`${url}/v1`));
    expect(thrown).toMatchObject({ fault: 'refused', message: expect.stringContaining(`${url}/v1`) });
    expect((thrown as HttpError).cause).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('of an unknown host is told', async () => {
    expect(await faultOf(client().fetch('http://no-such-host.invalid/v1'))).toBe('dns');
  });

  it.each([
    ['before the answer', ''],
    ['in the headers', 'HTTP/1.1 200 OK\r\ncontent-'],
    ['in a body of known length', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'],
    ['in a chunked body', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n'],
  ])('of a connection reset %s is told', async (_where, sent) => {
    const url = await serveSockets((socket) => {
      socket.on('error', () => {});
      socket.once('data', async () => {
        if (sent !== '') socket.write(sent);
        await sleep(30);
        socket.resetAndDestroy();
      });
    });
    expect(await faultOf(client().fetch(url).then(readAll))).toBe('reset');
  });

  it('of a connection closed in the middle of a body is told', async () => {
    const url = await serveSockets((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'));
    });
    expect(await faultOf(client().fetch(url).then(readAll))).toBe('reset');
  });

  it('of a body that broke before anybody read it is told to the reader', async () => {
    const url = await serveSockets((socket) => {
      socket.on('error', () => {});
      socket.once('data', async () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc');
        await sleep(20);
        socket.resetAndDestroy();
      });
    });
    const response = await client().fetch(url);
    await sleep(60);
    expect(await faultOf(readAll(response))).toBe('reset');
  });

  it('of a server that does not speak HTTP is told', async () => {
    const url = await serveSockets((socket) => {
      socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.6\r\n'));
    });
    expect(await faultOf(client().fetch(url))).toBe('not-http');
  });

  it('of a header that cannot be sent is told without its value', async () => {
    const url = await serve((_request, response) => response.end());
    const thrown = await thrownBy(client().fetch(url, { headers: { authorization: 'Bearer sec\nret' } }));
    expect(thrown).toBeInstanceOf(HttpError);
    expect(String(thrown)).not.toContain('ret"');
  });
});

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])(
    'of a POST with status %i is an error, and the key goes nowhere',
    async (status) => {
      let strangers = 0;
      const other = await serve((_request, response) => {
        strangers += 1;
        response.end();
      });
      const url = await serve((_request, response) =>
        response.writeHead(status, { location: `${other}/x?key=1` }).end(),
      );
      const request = { method: 'POST', body: '{}', headers: { authorization: 'Bearer secret' } };
      const thrown = await thrownBy(client().fetch(url, request));
      expect(thrown).toMatchObject({
        fault: 'redirect',
        message: expect.stringContaining(`${other}/x (status ${status})`),
      });
      expect(strangers).toBe(0);
    },
  );

  it('of a GET is handed back as it is', async () => {
    const url = await serve((_request, response) => response.writeHead(302, { location: '/there' }).end());
    const response = await client().fetch(url);
    expect([response.status, response.ok, response.headers.get('location')]).toEqual([302, false, '/there']);
  });
});

it('close drops what is under way', async () => {
  const url = await serve((_request, response) => response.write('one'));
  const http = client();
  const response = await http.fetch(url);
  setTimeout(http.close, 30);
  expect(await faultOf(readAll(response))).toBe('reset');
});
