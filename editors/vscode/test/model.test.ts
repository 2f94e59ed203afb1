import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { bar, groups, lastAct, others, plain, problems, stateOf, status, sum, unread } from '../src/model.ts';
import { failure, look, lookArgs, runner, Schedule, settingsOf, sweep, sweepArgs, type Decision, type Ran, type Report } from '../src/sweeper.ts';

const d = (id: string, more: Partial<Decision> = {}): Decision => ({ id, kind: id.startsWith('terminal') ? 'terminal' : 'tab', verdict: 'spare', owner: '/w', label: id, ...more });
const found = [{ rule: 'reap.tabs.ended', message: 'its process (1) has ended' }];
const report: Report = {
  decisions: [
    d('tab:vscode/aaaaaaaa/1', { verdict: 'reap', findings: found }),
    d('tab:vscode/aaaaaaaa/2', { findings: found, objections: [{ rule: 'protect.debounce', message: 'it needs a second look' }] }),
    d('tab:vscode/aaaaaaaa/3', { objections: [{ rule: 'protect.live', message: 'its process (7) lives' }], main: { group: 'in use', message: 'its process (7) lives', next: '' } }),
    d('tab:vscode/aaaaaaaa/4', { findings: found, objections: [{ rule: 'protect.showing', message: 'x' }], after: ['terminal:codev/d/1'] }),
    d('tab:vscode/aaaaaaaa/5', { objections: [{ rule: 'protect.held', message: 'somebody holds it' }] }),
    d('tab:vscode/aaaaaaaa/6', { findings: found, level: 'ask' }),
    d('tab:vscode/bbbbbbbb/1', { verdict: 'reap', findings: found }),
    d('tab:herdr/default/w1:t3', { verdict: 'reap', findings: found }),
    d('terminal:codev/d/1', { verdict: 'reap', findings: found, owner: '' }),
  ],
};

const ran = (r: Partial<Ran>): (() => Promise<Ran>) => async () => ({ code: 0, stdout: '', stderr: '', missing: false, late: false, ...r });

test('a window shows its own tabs and the terminals of Codev, each with a reason and a next step', () => {
  const all = groups(report, 'aaaaaaaa', true);
  assert.deepEqual(all.map((g) => [g.owner, g.items.map((i) => `${i.id.split('/').at(-1)} ${i.state}`)]), [
    ['', ['1 goes']], ['/w', ['1 goes', '4 after', '2 waits', '6 ask', '3 stays', '5 stays']],
  ]);
  const items = all.flatMap((g) => g.items);
  assert.ok(items.every((i) => i.why && i.next));
  assert.equal(items.find((i) => i.held)?.next, 'Run "Winnow: Release" to let it go.');
  assert.deepEqual(status(all), { text: '$(trash) Winnow: 3 would go, 1 waits for a second look', spoken: 'Winnow: 3 would go, 1 waits for a second look' });
});

test('worktrees and processes are groups of their own, what goes first, and no window sweeps them', async () => {
  const dir = (n: number, more: Partial<Decision> = {}): Decision => d(`dir:/w/${n}`, { kind: 'dir', label: `~/w/w${String(n).padStart(3, '0')}`, ...more });
  const many = [...Array(120).keys()].map((n) => dir(n, n === 119 ? { verdict: 'reap', findings: found } : {}));
  const process = d('process:7@1', { kind: 'process', label: 'node', findings: found, objections: [{ rule: 'protect.debounce', message: 'x' }] });
  const all = others({ decisions: [...report.decisions, process, ...many] });
  assert.deepEqual(all.map((g) => [g.title, g.items.length, g.more]), [['Worktrees', 100, 20], ['Processes', 1, 0]]);
  assert.deepEqual(all[0]?.items.slice(0, 2).map((i) => [i.label, i.state, i.next]), [
    ['w119', 'goes', 'Run winnow sweep --apply in a terminal.'], ['w000', 'stays', 'Run "Winnow: Explain" to see what would let it go.']]);
  assert.equal(all[1]?.items[0]?.next, 'It needs a second look. Then run winnow sweep --apply.');
  assert.deepEqual(all.map(sum), ['120, 1 would go; 20 more in winnow sweep --all', '1']);
  assert.deepEqual(others(report), []);
  assert.ok(!lookArgs.includes('--apply'));
  let asked: string[] = [];
  assert.equal((await look(async (args) => { asked = args; return ran({ stdout: JSON.stringify(report) })(); })).kind, 'report');
  assert.deepEqual(asked, lookArgs);
});

test('there is nothing to say of what stays', () => {
  assert.equal(status(groups({ decisions: [d('tab:vscode/aaaaaaaa/3', { objections: [{ rule: 'protect.live', message: 'x' }] })] }, 'aaaaaaaa', false)), undefined);
  assert.equal(stateOf(d('x', { findings: found, objections: [{ rule: 'protect.debounce', message: '' }, { rule: 'protect.live', message: '' }] })), 'stays');
});

test('a report counts with any exit code, and a failure is said', async () => {
  for (const code of [0, 3, 5]) assert.equal((await sweep(ran({ code, stdout: JSON.stringify(report) }), false)).kind, 'report');
  assert.deepEqual(await sweep(ran({ code: 2, stderr: 'unknown key\n' }), false), { kind: 'failed', why: 'unknown key' });
  assert.deepEqual(await sweep(ran({ code: 1, stdout: '{"decisions":' }), false), { kind: 'failed', why: 'winnow ended with 1 and gave no report' });
  assert.deepEqual(await sweep(ran({ code: 1, stderr: 'winnow: another sweep is running: take lock' }), true), { kind: 'busy' });
  assert.equal((await sweep(ran({ missing: true, code: 1 }), false)).kind, 'missing');
  assert.equal((await sweep(ran({ late: true, code: 1 }), true)).kind, 'failed');
  assert.ok(!sweepArgs(false).includes('--apply') && sweepArgs(true).includes('--apply'));
});

test('the program runs without a shell, at home, and one that is not there is missing', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'wr'));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  const file = path.join(dir, 'winnow');
  fs.writeFileSync(file, '#!/bin/sh\npwd\necho "$1"\necho bad >&2\nexit 3\n', { mode: 0o755 });
  assert.deepEqual(await runner(() => file)(['$(id)']), { code: 3, stdout: `${fs.realpathSync(os.homedir())}\n$(id)\n`, stderr: 'bad\n', missing: false, late: false });
  assert.equal((await runner(() => path.join(dir, 'none'))([])).missing, true);
  fs.writeFileSync(file, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
  assert.equal((await runner(() => file, 100)([])).late, true);
  fs.writeFileSync(file, "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 0.1; done\n", { mode: 0o755 });
  assert.equal((await runner(() => file, 300, 300)([])).late, true, 'one that does not end when it is told to is killed');
  fs.writeFileSync(file, '#!/bin/sh\nhead -c 34000000 /dev/zero\n', { mode: 0o755 });
  const much = await runner(() => file)([]);
  assert.deepEqual([much.late, much.stderr], [false, 'it printed more than 32 MiB, and was stopped']);
  for (const name of ['', 'a\0b']) assert.equal((await runner(() => name)([])).code, 1, 'a name that no program has');
});

test('settings of the wrong kind turn nothing on, and no number makes it run without a pause', () => {
  const of = (v: Record<string, unknown>) => settingsOf((key) => v[key]);
  assert.deepEqual(of({}), { path: 'winnow', apply: false, everyMs: 30_000 });
  assert.deepEqual(of({ path: '/bin/w', sweep: true, every: 60 }), { path: '/bin/w', apply: true, everyMs: 60_000 });
  assert.deepEqual(of({ path: ' ', sweep: 'false', every: 'often' }), { path: 'winnow', apply: false, everyMs: 30_000 });
  for (const [every, want] of [[0, 5], [-1, 5], [NaN, 30], [Infinity, 30], [1e12, 86_400]] as const) assert.equal(of({ every }).everyMs, want * 1000);
  const { properties } = JSON.parse(fs.readFileSync('package.json', 'utf8')).contributes.configuration;
  assert.deepEqual(Object.entries<{ scope: string }>(properties).map(([name, p]) => `${name} ${p.scope}`), ['winnow.path machine', 'winnow.sweep machine', 'winnow.every machine']);
});

test('what is not read is not said to be empty', () => {
  const codev = { kind: 'codev', status: 'failed', error: 'no answer' };
  assert.deepEqual(unread({ decisions: [], sources: { 'vscode/a': { kind: 'vscode', status: 'ok' }, 'codev/x': codev } }, 'a'), { window: '', others: ['codev/x: no answer'] });
  assert.equal(unread({ decisions: [], sources: { 'vscode/a': { kind: 'vscode', status: 'failed', error: 'hung' } } }, 'a').window, 'hung');
  assert.match(unread({ decisions: [], sources: { 'vscode/b': { kind: 'vscode', status: 'ok' } } }, 'a').window, /did not look/);
  assert.deepEqual(['missing', 'failed', 'some'].map((state) => bar(state, [], '')?.text), ['$(warning) Winnow', '$(warning) Winnow', undefined]);
  assert.equal(bar('unseen', groups(report, 'aaaaaaaa', true), 'the folder\nis open')?.spoken, 'Winnow: it does not see this window, so the terminals here stay: the folder is open');
});

test('a text of others makes no button, and turns no writing round', () => {
  assert.equal(plain('[click](command:x) a\u202eb\n\u001b[31mc'), '[click] (command:x) a b [31mc');
  assert.equal(plain('x'.repeat(600)).length, 500);
  assert.equal(groups({ decisions: [d('tab:vscode/aaaaaaaa/1', { label: 'a\u202e\nb' })] }, 'aaaaaaaa', false)[0]?.items[0]?.label, 'a b');
});

test('a run that could apply is not said to have closed nothing', () => {
  assert.match(failure('it was stopped', false), /nothing was closed/);
  assert.match(failure('it was stopped', true), /winnow history/);
});

test('sweeps come one at a time, after a burst of events, and at intervals only when they apply', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const done: boolean[] = [];
  let release = (): void => {};
  const timing = { apply: false, everyMs: 30_000 };
  const s = new Schedule(() => timing, async (apply) => { done.push(apply); await new Promise<void>((resolve) => { release = resolve; }); });
  const settle = async (): Promise<void> => { release(); await new Promise((resolve) => setImmediate(resolve)); };
  s.start();
  s.soon();
  t.mock.timers.tick(1999);
  assert.deepEqual(done, []);
  t.mock.timers.tick(1);
  assert.deepEqual(done, [false]);
  void s.now(true);
  assert.deepEqual(done, [false], 'one is under way');
  await settle();
  t.mock.timers.tick(2000);
  assert.equal(done.length, 2, 'what came meanwhile is looked at after it');
  await settle();
  t.mock.timers.tick(120_000);
  assert.equal(done.length, 2, 'no interval while it may not apply');
  timing.apply = true;
  s.restart();
  t.mock.timers.tick(30_000);
  assert.deepEqual(done.slice(2), [true]);
  timing.apply = false;
  s.restart();
  void s.now(true);
  await settle();
  t.mock.timers.tick(2000);
  assert.deepEqual(done.slice(3), [true], 'what a person asked for meanwhile applies');
  void s.now(false);
  await settle();
  t.mock.timers.tick(2000);
  assert.deepEqual(done.slice(4), [false], 'and it was asked for once');
  await settle();
  s.stop();
  s.soon();
  t.mock.timers.tick(120_000);
  assert.equal(done.length, 5);
});

test('refusals of policies stand where they are', () => {
  assert.deepEqual(problems(JSON.stringify({ problems: [{ file: '/p/a.rego', line: 3, problem: 'not in a rule that reaps', fix: 'say it positively' }, { problem: 'no file' }] })),
    [{ file: '/p/a.rego', line: 2, message: 'not in a rule that reaps: say it positively' }]);
});

test('the last tab that was closed is the one that is brought back', () => {
  const row = (id: string, candidate: string): object => ({ intent: { id, candidate, label: `l${id}` } });
  assert.deepEqual(lastAct(JSON.stringify({ acts: [row('01B', 'tab:vscode/a/1'), row('01C', 'dir:/w'), row('01A', 'tab:vscode/a/2')] })), { act: '01B', label: 'l01B' });
  assert.equal(lastAct('{}'), undefined);
});
