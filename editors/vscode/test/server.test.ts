import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { folder, prepare, removeStale, Unsafe } from '../src/place.ts';
import { Refusal, Server, type Event, type Window } from '../src/server.ts';
import { Terminals, type Tab } from '../src/terminals.ts';

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

const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, formats: { 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ } });
ajv.addSchema(JSON.parse(fs.readFileSync('protocol.schema.json', 'utf8')), 'p');

/** Fails where a value is not what the protocol says of it. */
function conforms(what: string, value: unknown): void {
  const check = ajv.getSchema(`p#/$defs/${what}`);
  assert.ok(check, what);
  assert.ok(check(value), `${what}: ${JSON.stringify(value)}: ${ajv.errorsText(check.errors)}`);
}

/** A client that speaks line by line, and holds each answer against the protocol. */
async function connect(file: string) {
  const s = net.connect(file);
  await new Promise<void>((resolve, reject) => { s.once('connect', resolve); s.once('error', reject); });
  const lines: string[] = [];
  let wake = (): void => {}, pending = '', ended = false;
  s.on('data', (d) => { const parts = (pending + d).split('\n'); pending = parts.pop() ?? ''; lines.push(...parts); wake(); });
  s.on('close', () => { ended = true; wake(); });
  s.on('error', () => {});
  const line = async (): Promise<any> => {
    const late = setTimeout(() => s.destroy(new Error('late')), 20_000);
    while (!lines.length && !ended) await new Promise<void>((resolve) => { wake = resolve; });
    clearTimeout(late);
    const text = lines.shift();
    return text === undefined ? undefined : JSON.parse(text);
  };
  const ask = async (method: string, params: object = {}): Promise<any> => {
    s.write(JSON.stringify({ id: 'x', method, params }) + '\n');
    const answer = await line();
    conforms('response', answer);
    if (answer.result) conforms(`${method}.result`, answer.result);
    return answer;
  };
  return { s, ask, line };
}

async function proved(dir: string, file: string) {
  const c = await connect(file);
  const hello = (await c.ask('hello', { protocol: 1 })).result;
  fs.writeFileSync(path.join(dir, `${hello.window}.${hello.challenge}.proof`), '', { mode: 0o600, flag: 'wx' });
  const about = (await c.ask('prove')).result;
  return { ...c, hello, about };
}

test('a client that proves who it is gets the terminals, and nobody else does', async (t) => {
  const { dir, server } = await serve(t);
  assert.equal(fs.statSync(server.file).mode & 0o777, 0o600);
  const c = await proved(dir, server.file);
  const { challenge, ...told } = c.hello;
  assert.deepEqual(told, { protocol: 1, window: '0123abcd', pid: 42, start_ticks: 7 }, 'before the proof it tells nothing but where the proof goes');
  assert.deepEqual(c.about.folders, ['/w']);
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
    ['{"id":"a","method":"terminal.dispose","params":{"n":0,"name":"a","shape":"pty"}}', 'bad_request'], ['{"id":"a","method":"terminal.dispose","params":{"n":1,"name":"a","shape":"tab"}}', 'bad_request'],
    ['{"id":"a","method":"terminal.dispose","params":{"n":1,"name":"a","shape":"pty","pid":0}}', 'bad_request'], ['{"id":"a","method":"terminal.open","params":{"name":7}}', 'bad_request'],
    ['{"id":"a","method":"terminal.open","params":{"name":"a","cwd":""}}', 'bad_request'], ['{"id":"a","method":"hello","params":{"protocol":2}}', 'bad_request'],
  ] as const) {
    c.s.write(line + '\n');
    assert.equal((await c.line()).error.code, code, line);
  }
  for (const long of ['x'.repeat(2 << 20), `${'\u20ac'.repeat(400_000)}\n`]) {
    const l = await connect(server.file);
    l.s.write(long);
    assert.equal(await l.line(), undefined, 'a line that is too long ends the connection, and its bytes are what counts');
  }
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

test('real terminals are told as the protocol says, closed and opened', async (t) => {
  const tab = (name: string, more: Partial<Tab> = {}): Tab => {
    const x: Tab = { name, processId: Promise.resolve(undefined), creationOptions: { name }, state: { isInteractedWith: false }, dispose: () => terminals.closed(x), ...more };
    return x;
  };
  const terminals = new Terminals<Tab>({
    now: () => new Date(), startTicks: (pid) => pid * 10, began: 5, remember: () => {}, isFolder: () => true, create: (name) => tab(name, { processId: Promise.resolve(9) }),
  }, [], undefined);
  await terminals.opened(tab('Codev: builder-x', { creationOptions: { name: 'Codev: builder-x', pty: {} } }));
  await terminals.opened(tab('task', { processId: Promise.resolve(7), creationOptions: { shellPath: '/bin/claude', cwd: '/w', env: { A: 'secret' } }, exitStatus: { code: 3 }, state: { isInteractedWith: true } }));
  await terminals.found(tab('', { creationOptions: {} }));
  terminals.taskStarted(7);
  const { dir, server } = await serve(t, {
    list: (markers) => terminals.list(markers), dispose: (want) => terminals.dispose(want), open: (name, cwd) => terminals.open(name, cwd), onEvent: (l) => terminals.onEvent(l),
  });
  const c = await proved(dir, server.file);
  const list = async (): Promise<any[]> => (await c.ask('terminals.list', { markers: ['A'] })).result.terminals;
  const [, task] = await list();
  assert.deepEqual([task.shape, task.markers, task.exit_code, task.typed], ['task', ['A'], 3, true]);
  const want = { n: 2, name: 'task', shape: 'task', creation_name: '', pid: 7, start_ticks: 70 };
  conforms('terminal.dispose.params', want);
  assert.deepEqual((await c.ask('terminal.dispose', want)).result, { gone: true });
  assert.equal((await c.ask('terminal.dispose', want)).error.code, 'not_found');
  conforms('terminal.open.params', { name: '' });
  assert.deepEqual((await c.ask('terminal.open', { name: '' })).result, { n: 4, pid: 9 });
  assert.deepEqual((await list()).map((x) => x.n), [1, 3, 4]);
  await c.ask('events');
  terminals.taskStarted(9);
  terminals.taskEnded(undefined);
  for (let i = 0; i < 2; i++) conforms('event', await c.line());
});

test('one that asks and does not read is cut off', async (t) => {
  const { dir, server, listeners } = await serve(t);
  const c = await proved(dir, server.file);
  await c.ask('events');
  c.s.pause();
  for (let i = 0; i < 1_000_000 && listeners.size; i++) {
    for (const listen of listeners) listen({ event: 'changed', n: i });
    if (i % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(listeners.size, 0);
});

test('connections and requests under way are bounded', async (t) => {
  const { dir, server } = await serve(t, { list: () => new Promise(() => {}) });
  const all = [];
  for (let i = 0; i < 16; i++) all.push(await proved(dir, server.file));
  const more = net.connect(server.file);
  more.on('error', () => {});
  const asked = Date.now();
  await new Promise((resolve) => more.once('close', resolve));
  assert.ok(Date.now() - asked < 4000, 'it was refused, and did not only lack its proof');
  const [busy] = all;
  for (let i = 0; i < 32; i++) busy?.s.write('{"id":"a","method":"terminals.list"}\n');
  const calm = all[1];
  assert.ok((await calm?.ask('hello', { protocol: 1 })).result);
  assert.equal(busy?.s.destroyed, false, '32 are under way');
  busy?.s.write('{"id":"a","method":"terminals.list"}\n');
  const began = Date.now();
  assert.equal(await busy?.line(), undefined);
  assert.ok(Date.now() - began < 15_000, 'the window ended the connection, not this client');
});

test('an answer that is longer than a line may be is a failure', async (t) => {
  const { dir, server } = await serve(t, { list: async () => [{ n: 1, name: 'x'.repeat(2 << 20), shape: 'pty', active: true, opened_at: '2026-01-01T00:00:00.000Z' }] });
  const c = await proved(dir, server.file);
  assert.equal((await c.ask('terminals.list')).error.code, 'failed');
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
