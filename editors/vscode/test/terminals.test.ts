import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStartTicks, Terminals, type Remembered, type Tab } from '../src/terminals.ts';

class Fake implements Tab {
  exitStatus: { code: number | undefined } | undefined;
  state = { isInteractedWith: false };
  disposed = false;
  onDispose = (): void => {};
  processId: Promise<number | undefined>;
  constructor(public name: string, public creationOptions: Tab['creationOptions'] = {}, pid?: number) { this.processId = Promise.resolve(pid); }
  dispose(): void { this.disposed = true; this.onDispose(); }
}

const at = new Date('2026-11-20T12:00:00Z');

function world(before: Remembered[] = [], ticks: Record<number, number> = {}, began = 0) {
  const w = { saved: [] as Remembered[], made: [] as Fake[] };
  const terminals = new Terminals<Fake>({
    now: () => at, startTicks: (pid) => ticks[pid], began, remember: (all) => { w.saved = all; }, isFolder: (dir) => dir === '/w',
    create: (name, cwd) => { const f = new Fake(name, { name, ...(cwd ? { cwd } : {}) }, 77); w.made.push(f); return f; },
  }, before, undefined);
  return { w, terminals };
}

test('what a tab was opened with is told, and never a value', async () => {
  const { terminals } = world([], { 4711: 99 });
  await terminals.opened(new Fake('renamed', { name: 'Claude Code', shellPath: '/opt/bin/claude', cwd: { fsPath: '/w' }, env: { CLAUDECODE: 'secret', OTHER: 'secret', UNSET: null } }, 4711));
  const [told] = await terminals.list(['CLAUDECODE', 'UNSET', 'MISSING']);
  assert.deepEqual(told, {
    n: 1, name: 'renamed', shape: 'shell', active: false, opened_at: at.toISOString(), creation_name: 'Claude Code', program: 'claude', cwd: '/w', markers: ['CLAUDECODE'],
    pid: 4711, start_ticks: 99, typed: false,
  });
});

test('of a tab that was there before, what nobody knows any more is absent', async () => {
  const { terminals } = world([], { 5: 50 });
  await terminals.found(new Fake('zsh', {}, 5));
  await terminals.found(new Fake('x', { name: 'x' }, 6));
  const [a, b] = await terminals.list(['A']);
  assert.deepEqual([a?.creation_name, a?.program, a?.markers, a?.typed], [undefined, undefined, undefined, undefined]);
  assert.equal(b?.creation_name, 'x');
  assert.equal(b?.start_ticks, undefined, 'its process had ended');
});

test('a reload is remembered by the very process', async () => {
  const first = world([], { 5: 50 });
  await first.terminals.opened(new Fake('c', { name: 'c', shellPath: '/bin/claude', env: { A: 'secret' } }, 5));
  const saved = first.w.saved;
  assert.ok(saved.length === 1 && !JSON.stringify(saved).includes('secret'));
  const again = world(saved, { 5: 50 });
  await again.terminals.found(new Fake('renamed', {}, 5));
  const [told] = await again.terminals.list(['A']);
  assert.deepEqual([told?.creation_name, told?.program, told?.markers, told?.typed], ['c', 'claude', ['A'], false]);
  const reused = world(saved, { 5: 51 });
  await reused.terminals.found(new Fake('zsh', {}, 5));
  assert.equal((await reused.terminals.list([]))[0]?.creation_name, undefined, 'another process has that number');
});

test('a tab that the editor brings back after a reload is not one that this host saw open', async () => {
  const was = { pid: 5, ticks: 50, opened_at: '2026-11-20T10:00:00.000Z', task: true, creation_name: 'c', program: 'claude', variables: ['A'], typed: true };
  const { terminals } = world([was], { 5: 50, 6: 60, 7: 100 }, 100);
  for (const f of [new Fake('c', {}, 5), new Fake('zsh', { env: { A: 'x' } }, 6), new Fake('zsh', { env: { A: 'x' } }, 7)]) await terminals.opened(f);
  const all = await terminals.list(['A']);
  assert.deepEqual(all.map((t) => [t.shape, t.creation_name, t.program, t.markers, t.typed]), [
    ['task', 'c', 'claude', ['A'], true], ['shell', undefined, undefined, undefined, undefined], ['shell', '', '', ['A'], false],
  ]);
  assert.equal(all[0]?.opened_at, was.opened_at);
});

test('what was remembered counts also when the editor says late which process it is', async () => {
  const { terminals } = world([{ pid: 5, ticks: 50, opened_at: at.toISOString(), task: false, program: 'claude' }], { 5: 50 });
  const f = new Fake('c', {});
  await terminals.found(f);
  assert.equal((await terminals.list([]))[0]?.program, undefined);
  f.processId = Promise.resolve(5);
  assert.equal((await terminals.list([]))[0]?.program, 'claude');
});

test('a process that starts late and ends soon is seen while it is there, and remembered', async () => {
  const ticks: Record<number, number> = { 5: 50 };
  const { terminals, w } = world([], ticks);
  const f = new Fake('c', { name: 'c' });
  let start = (_: number): void => {};
  f.processId = new Promise((resolve) => { start = resolve; });
  await terminals.opened(f);
  assert.equal(w.saved.length, 0);
  start(5);
  await new Promise((resolve) => setImmediate(resolve));
  delete ticks[5];
  assert.deepEqual(w.saved.map((r) => [r.pid, r.ticks, r.creation_name]), [[5, 50, 'c']]);
  assert.equal((await terminals.list([]))[0]?.start_ticks, 50);
});

test('a terminal that a task reuses has another process, and one that the editor lost has none', async () => {
  const ticks: Record<number, number> = { 5: 50, 6: 60 };
  const { terminals } = world([], ticks);
  const f = new Fake('t', { name: 't' }, 5), lost = new Fake('u', { name: 'u' });
  lost.processId = Promise.reject(new Error('gone'));
  await terminals.opened(f);
  await terminals.opened(lost);
  f.processId = Promise.resolve(6);
  terminals.taskStarted(6);
  await new Promise((resolve) => setImmediate(resolve));
  delete ticks[6];
  const [told, other] = await terminals.list([]);
  assert.deepEqual([told?.shape, told?.pid, told?.start_ticks, other?.pid], ['task', 6, 60, undefined]);
});

test('an event names a terminal of the window', async () => {
  const { terminals } = world([], { 5: 50, 6: 60 });
  const seen: string[] = [];
  terminals.onEvent((e) => seen.push(`${e.event} ${e.n}`));
  for (const pid of [5, 6]) await terminals.opened(new Fake('t', { name: 't' }, pid));
  terminals.taskStarted(6);
  terminals.taskEnded(5);
  terminals.taskEnded(undefined);
  terminals.taskEnded(7);
  assert.deepEqual(seen, ['opened 1', 'changed 1', 'opened 2', 'changed 2', 'changed 2', 'ended 1', 'ended 2']);
});

test('a pty has no process, whatever number the editor gives', async () => {
  const { terminals } = world();
  await terminals.opened(new Fake('Codev: builder-x', { name: 'Codev: builder-x', pty: {} }, -1));
  const [told] = await terminals.list([]);
  assert.deepEqual([told?.shape, told?.pid, told?.program], ['pty', undefined, undefined]);
});

test('a task is known by its process, and a reused terminal by its next one', async () => {
  const { terminals } = world([], { 5: 50, 6: 60 });
  const f = new Fake('t', { name: 't' }, 5);
  await terminals.opened(f);
  terminals.taskStarted(5);
  assert.equal((await terminals.list([]))[0]?.shape, 'task');
  f.processId = Promise.resolve(6);
  const [told] = await terminals.list([]);
  assert.deepEqual([told?.pid, told?.start_ticks], [6, 60]);
});

test('a tab is closed only when it is in everything what was said', async () => {
  const { terminals } = world([], { 5: 50 });
  const f = new Fake('a', { name: 'a' }, 5);
  f.onDispose = () => terminals.closed(f);
  await terminals.opened(f);
  const want = { n: 1, name: 'a', shape: 'shell', creation_name: 'a', pid: 5, start_ticks: 50 };
  for (const change of [{ name: 'b' }, { shape: 'pty' }, { creation_name: 'b' }, { pid: 6 }, { start_ticks: 51 }]) {
    await assert.rejects(terminals.dispose({ ...want, ...change }), { code: 'changed' });
  }
  const { pid: _, ...without } = want;
  await assert.rejects(terminals.dispose(without), { code: 'changed' });
  await assert.rejects(terminals.dispose({ ...want, n: 9 }), { code: 'not_found' });
  assert.equal(f.disposed, false);
  assert.deepEqual(await terminals.dispose(want), { gone: true });
  assert.deepEqual(await terminals.list([]), []);
});

test('a closing that does nothing is said', async () => {
  const { terminals } = world();
  await terminals.opened(new Fake('a', { name: 'a', pty: {} }));
  assert.deepEqual(await terminals.dispose({ n: 1, name: 'a', shape: 'pty', creation_name: 'a' }), { gone: false });
});

test('numbers are given once only', async () => {
  const { terminals } = world();
  const a = new Fake('a');
  await terminals.opened(a);
  terminals.closed(a);
  await terminals.opened(new Fake('b'));
  assert.deepEqual((await terminals.list([])).map((t) => t.n), [2]);
});

test('a terminal is opened in a folder that is there', async () => {
  const { terminals, w } = world();
  await assert.rejects(terminals.open('a', '/none'), { code: 'refused' });
  await assert.rejects(terminals.open('a', 'w'), { code: 'refused' });
  assert.deepEqual(await terminals.open('a', '/w'), { n: 1, pid: 77 });
  assert.equal(w.made.length, 1);
});

test('the start of a process is the 22nd field, whatever its name holds', () => {
  const rest = Array.from({ length: 30 }, (_, i) => String(i + 3));
  assert.equal(parseStartTicks(`12 (a b) c) ${rest.join(' ')}`), 22);
  assert.equal(parseStartTicks('12 (a) S 1'), undefined);
});
