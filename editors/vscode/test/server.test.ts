import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { folder, prepare, removeStale, Unsafe } from '../src/place.ts';
import { Refusal, Server, type Event, type Window } from '../src/server.ts';

const uid = os.userInfo().uid;
interface Test { after(f: () => void): void; }

function scratch(t: Test): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'ws'));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}

async function serve(t: Test, change: Partial<Window> = {}, proofWithin?: number) {
  const dir = scratch(t);
  const listeners = new Set<(e: Event) => void>();
  const window: Window = {
    about: () => ({ extension: '0.1.0', editor: { name: 'Code', version: '1.105.0' }, folders: ['/w'], focused: true }),
    list: async (markers) => [{ n: 1, name: 'a', shape: 'pty', active: true, opened_at: '2026-01-01T00:00:00.000Z', markers: [...markers] }],
    dispose: async () => ({ gone: true }),
    open: async () => ({ n: 2 }),
    onEvent: (listen) => { listeners.add(listen); return () => { listeners.delete(listen); }; },
    ...change,
  };
  const server = new Server({ window, id: '0123abcd', dir, uid, pid: 42, startTicks: 7, log: () => {}, ...(proofWithin === undefined ? {} : { proofWithin }) });
  await server.start();
  t.after(() => server.stop());
  return { dir, server, listeners };
}

/** A client that speaks line by line. */
async function connect(file: string) {
  const s = net.connect(file);
  await new Promise<void>((resolve, reject) => { s.once('connect', resolve); s.once('error', reject); });
  const lines: string[] = [];
  let wake = (): void => {}, pending = '', ended = false;
  s.on('data', (d) => { const parts = (pending + d).split('\n'); pending = parts.pop() ?? ''; lines.push(...parts); wake(); });
  s.on('close', () => { ended = true; wake(); });
  s.on('error', () => {});
  const line = async (): Promise<any> => {
    while (!lines.length && !ended) await new Promise<void>((resolve) => { wake = resolve; });
    const text = lines.shift();
    return text === undefined ? undefined : JSON.parse(text);
  };
  const ask = async (method: string, params: object = {}): Promise<any> => { s.write(JSON.stringify({ id: 'x', method, params }) + '\n'); return line(); };
  return { s, ask, line };
}

async function proved(dir: string, file: string) {
  const c = await connect(file);
  const hello = (await c.ask('hello', { protocol: 1 })).result;
  fs.writeFileSync(path.join(dir, `${hello.window}.${hello.challenge}.proof`), '', { mode: 0o600, flag: 'wx' });
  assert.deepEqual((await c.ask('prove')).result, {});
  return { ...c, hello };
}

test('a client that proves who it is gets the terminals, and nobody else does', async (t) => {
  const { dir, server } = await serve(t);
  assert.equal(fs.statSync(server.file).mode & 0o777, 0o600);
  const c = await proved(dir, server.file);
  assert.deepEqual([c.hello.protocol, c.hello.window, c.hello.pid, c.hello.start_ticks, c.hello.folders], [1, '0123abcd', 42, 7, ['/w']]);
  assert.deepEqual((await c.ask('terminals.list', { markers: ['A'] })).result.terminals[0].markers, ['A']);
  assert.deepEqual(fs.readdirSync(dir), ['0123abcd.sock'], 'the proof is removed');
  const other = await connect(server.file);
  await other.ask('hello', { protocol: 1 });
  assert.equal((await other.ask('terminals.list')).error.code, 'not_proved');
  assert.equal(await other.line(), undefined, 'and the connection ends');
});

test('a proof that others could have made is refused', async (t) => {
  const { dir, server } = await serve(t);
  for (const [what, make] of Object.entries<(file: string) => void>({
    missing: () => {},
    'with something in it': (f) => fs.writeFileSync(f, 'x', { mode: 0o600 }),
    'open to others': (f) => { fs.writeFileSync(f, ''); fs.chmodSync(f, 0o644); },
    'a link': (f) => { fs.writeFileSync(f + '.target', '', { mode: 0o600 }); fs.symlinkSync(f + '.target', f); },
    'with two names': (f) => { fs.writeFileSync(f, '', { mode: 0o600 }); fs.linkSync(f, f + '.other'); },
    'a folder': (f) => fs.mkdirSync(f, 0o600),
  })) {
    const c = await connect(server.file);
    const { window, challenge } = (await c.ask('hello', { protocol: 1 })).result;
    make(path.join(dir, `${window}.${challenge}.proof`));
    assert.equal((await c.ask('prove')).error.code, 'not_proved', what);
    assert.equal(await c.line(), undefined, what);
  }
});

test('prove does not come before hello, and one that proves nothing is cut off', async (t) => {
  const { server } = await serve(t, {}, 50);
  const c = await connect(server.file);
  assert.equal((await c.ask('prove')).error.code, 'not_proved');
  const idle = await connect(server.file);
  assert.equal(await idle.line(), undefined);
});

test('what is not of the protocol is refused, and the window lives on', async (t) => {
  const { dir, server } = await serve(t);
  const c = await proved(dir, server.file);
  for (const [line, code] of [
    ['{', 'bad_request'], ['[]', 'bad_request'], ['{"id":1,"method":"events"}', 'bad_request'], ['{"id":"","method":"events"}', 'bad_request'],
    ['{"id":"a","method":"events","params":{"x":1}}', 'bad_request'], ['{"id":"a","method":"events","more":1}', 'bad_request'], ['{"id":"a","method":"rm"}', 'unknown_method'],
    ['{"id":"a","method":"terminals.list","params":{"markers":["A=1"]}}', 'bad_request'], ['{"id":"a","method":"terminals.list","params":{"markers":null}}', 'bad_request'],
    ['{"id":"a","method":"terminal.dispose","params":{"n":"1","name":"a","shape":"pty"}}', 'bad_request'], ['{"id":"a","method":"terminal.dispose","params":{"n":1,"shape":"pty"}}', 'bad_request'],
    ['{"id":"a","method":"terminal.open","params":{"name":""}}', 'bad_request'], ['{"id":"a","method":"hello","params":{"protocol":2}}', 'bad_request'],
  ] as const) {
    c.s.write(line + '\n');
    assert.equal((await c.line()).error.code, code, line);
  }
  c.s.write('x'.repeat(2 << 20));
  assert.equal(await c.line(), undefined, 'a line that is too long ends the connection');
  assert.ok((await (await proved(dir, server.file)).ask('terminals.list')).result);
});

test('a refusal of the window keeps its code, and what it throws is failed', async (t) => {
  const { dir, server } = await serve(t, {
    dispose: async () => { throw new Refusal('changed', 'its name is another one'); },
    open: async () => { throw new Error('no'); },
  });
  const c = await proved(dir, server.file);
  assert.equal((await c.ask('terminal.dispose', { n: 1, name: 'a', shape: 'pty' })).error.code, 'changed');
  assert.deepEqual((await c.ask('terminal.open', { name: 'a' })).error, { code: 'failed', message: 'no' });
});

test('events come to those who asked, until they go', async (t) => {
  const { dir, server, listeners } = await serve(t);
  const c = await proved(dir, server.file);
  await c.ask('events');
  assert.equal(listeners.size, 1);
  for (const listen of listeners) listen({ event: 'opened', n: 3 });
  assert.deepEqual(await c.line(), { event: 'opened', n: 3 });
  c.s.destroy();
  while (listeners.size) await new Promise((resolve) => setTimeout(resolve, 5));
});

test('the folder is the user\'s own, or nothing is served', (t) => {
  const dir = scratch(t), run = path.join(dir, 'run');
  fs.mkdirSync(path.join(run, String(uid)), { recursive: true });
  assert.equal(folder({ env: { XDG_RUNTIME_DIR: dir }, uid, run }), path.join(dir, 'winnow/editors'));
  assert.equal(folder({ env: { XDG_RUNTIME_DIR: 'relative' }, uid, run }), path.join(run, String(uid), 'winnow/editors'));
  assert.equal(folder({ env: { XDG_RUNTIME_DIR: path.join(dir, 'none') }, uid, run: '/none' }), `/tmp/winnow-${uid}/editors`);
  assert.equal(folder({ env: { TMPDIR: dir }, uid, run: '/none' }), path.join(dir, `winnow-${uid}`, 'editors'));
  const good = path.join(dir, 'winnow/editors');
  prepare(good, uid);
  prepare(good, uid);
  fs.chmodSync(good, 0o755);
  assert.throws(() => prepare(good, uid), Unsafe);
  fs.mkdirSync(path.join(dir, 'w2'), { mode: 0o700 });
  fs.symlinkSync(dir, path.join(dir, 'w2/editors'));
  assert.throws(() => prepare(path.join(dir, 'w2/editors'), uid), Unsafe);
  fs.chmodSync(good, 0o700);
  assert.throws(() => prepare(good, uid + 1), Unsafe);
});

test('sockets of windows that vanished go after a minute, and no other file', async (t) => {
  const { dir, server } = await serve(t);
  const dead = path.join(dir, 'deadbeef.sock');
  const other = net.createServer().listen(dead);
  await new Promise((resolve) => other.once('listening', resolve));
  // A server that is closed removes its socket: the file is kept under another name, as a killed process leaves it.
  fs.renameSync(dead, dead + '.kept');
  await new Promise((resolve) => other.close(resolve));
  fs.renameSync(dead + '.kept', dead);
  fs.writeFileSync(path.join(dir, 'notes.txt'), 'mine');
  const proof = `0123abcd.${'0'.repeat(32)}.proof`;
  fs.writeFileSync(path.join(dir, proof), '');
  assert.deepEqual(await removeStale(dir, Date.now()), [], 'it is young');
  assert.deepEqual(await removeStale(dir, Date.now() + 120_000), [proof, 'deadbeef.sock']);
  assert.deepEqual(fs.readdirSync(dir).sort(), ['0123abcd.sock', 'notes.txt']);
  assert.ok(fs.existsSync(server.file));
});
