// What a person sees of a report: groups, words, one next step. Without vscode.
import type { Decision, Report } from './sweeper.ts';

export type State = 'goes' | 'waits' | 'after' | 'ask' | 'stays';
export interface Item { id: string; label: string; kind: string; state: State; why: string; next: string; held: boolean; }
export interface Group { owner: string; items: Item[]; title?: string; more?: number; }

const order: State[] = ['goes', 'after', 'waits', 'ask', 'stays'];

export function stateOf(d: Decision): State {
  if (d.verdict === 'reap') return 'goes';
  if (d.after?.length) return 'after';
  if (d.level) return 'ask';
  if (d.findings?.length && d.objections?.length && d.objections.every((o) => o.rule === 'protect.debounce')) return 'waits';
  return 'stays';
}

/** The tabs of this window and the terminals of Codev, by owner. */
export function groups(report: Report, window: string, sweeping: boolean): Group[] {
  const by = new Map<string, Item[]>();
  for (const d of report.decisions) {
    if (d.kind !== 'terminal' && !d.id.startsWith(`tab:vscode/${window}/`)) continue;
    const owner = d.owner ?? '';
    by.set(owner, [...(by.get(owner) ?? []), itemOf(d, sweeping)]);
  }
  return [...by.entries()].sort(([a], [b]) => a.localeCompare(b)).map(([owner, items]) => ({ owner, items: items.sort(byState) }));
}

const byState = (a: Item, b: Item): number => order.indexOf(a.state) - order.indexOf(b.state) || a.label.localeCompare(b.label);

/** How many worktrees, and how many processes, are shown: what goes comes first. */
const shown = 100;

/** The worktrees and the processes of this machine, a group each. Empty groups are left out. */
export function others(report: Report): Group[] {
  const titles = { dir: 'Worktrees', process: 'Processes' };
  return Object.entries(titles).map(([kind, title]) => {
    const items = report.decisions.filter((d) => d.kind === kind).map((d) => itemOf(d, false)).sort(byState);
    return { owner: '', title, items: items.slice(0, shown), more: Math.max(0, items.length - shown) };
  }).filter((g) => g.items.length > 0);
}

/** What stands beside a group's name: how many it has, and how many of these would go. */
export function sum(g: Group): string {
  const go = g.items.filter((i) => i.state === 'goes' || i.state === 'after').length;
  return `${g.items.length + (g.more ?? 0)}${go ? `, ${go} would go` : ''}${g.more ? `; ${g.more} more in winnow sweep --all` : ''}`;
}

function itemOf(d: Decision, sweeping: boolean): Item {
  const state = stateOf(d);
  const held = d.objections?.some((o) => o.rule === 'protect.held') ?? false;
  const reasons = (state === 'stays' ? d.objections : d.findings) ?? [];
  const why = state === 'stays' && d.main ? d.main.message : reasons.map((r) => r.message).join('; ') || d.main?.message || 'no rule found a reason';
  return { id: d.id, label: nameOf(d), kind: d.kind, state, why: oneLine(why), next: nextOf(state, held, sweeping, d), held };
}

/** A folder by its last name: its id has the whole path. */
function nameOf(d: Decision): string {
  const name = oneLine(d.label || d.id);
  return (d.kind === 'dir' && name.split('/').filter(Boolean).at(-1)) || name;
}

function nextOf(state: State, held: boolean, sweeping: boolean, d: Decision): string {
  const elsewhere = d.kind === 'dir' || d.kind === 'process'; // what no window sweeps
  switch (state) {
    case 'goes': if (elsewhere) return 'Run winnow sweep --apply in a terminal.'; return sweeping ? 'The next sweep closes it.' : 'Run "Winnow: Sweep Now", or turn on winnow.sweep.';
    case 'after': return `It goes after ${d.after?.join(', ')}.`;
    case 'waits': if (elsewhere) return 'It needs a second look. Then run winnow sweep --apply.'; return sweeping ? 'A second look closes it.' : 'It needs a second look. Then run "Winnow: Sweep Now".';
    case 'ask': return `Run winnow cleanup ${d.id} --safe.`;
    case 'stays': return held ? 'Run "Winnow: Release" to let it go.' : d.main?.next ? `Run ${d.main.next}.` : 'Run "Winnow: Explain" to see what would let it go.';
  }
}

export const words: Record<State, string> = { goes: 'goes', after: 'goes after another', waits: 'waits for a second look', ask: 'is for you to decide', stays: 'stays' };

/** The status bar's text, undefined where there is nothing to say, and the same in words for a screen reader. */
export function status(all: readonly Group[]): { text: string; spoken: string } | undefined {
  const count = (...s: State[]): number => all.flatMap((g) => g.items).filter((i) => s.includes(i.state)).length;
  const go = count('goes', 'after'), wait = count('waits');
  const parts: string[] = [];
  if (go) parts.push(`${go} would go`);
  if (wait) parts.push(`${wait} ${wait === 1 ? 'waits' : 'wait'} for a second look`);
  return parts.length ? { text: `$(trash) Winnow: ${parts.join(', ')}`, spoken: `Winnow: ${parts.join(', ')}` } : undefined;
}

/** Why a report may say less than there is: of this window, and of the terminals of Codev. What is not read is not known, and stays. */
export function unread(report: Report, window: string): { window: string; others: string[] } {
  const own = report.sources?.[`vscode/${window}`];
  const others = Object.entries(report.sources ?? {}).filter(([, s]) => s.kind === 'codev' && s.status === 'failed').map(([name, s]) => `${name}: ${s.error ?? 'it failed'}`);
  if (own?.status === 'ok') return { window: '', others };
  return { window: own ? own.error || `its source is ${own.status}` : 'winnow did not look at it; see collect.vscode.sockets in config.yaml', others };
}

/** What the status bar shows. unseen is why winnow does not see the window, empty where it does. */
export function bar(state: string, all: readonly Group[], unseen: string): { text: string; spoken: string } | undefined {
  const trouble = state === 'missing' ? 'the program was not found' : state === 'failed' ? 'the last look failed'
    : unseen && `it does not see this window, so the terminals here stay: ${oneLine(unseen)}`;
  return trouble ? { text: '$(warning) Winnow', spoken: `Winnow: ${trouble}` } : status(all);
}

/** A text of others in one line: without what steers a terminal or turns the direction of writing. */
export function oneLine(s: string): string {
  return s.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g, ' ').trim();
}

/** A text of others for a notification, in which an editor would make [text](command:...) a button. */
export function plain(s: string): string {
  const line = oneLine(s).replaceAll('](', '] (');
  return line.length > 500 ? `${line.slice(0, 499)}…` : line;
}

export interface Problem { file: string; line: number; message: string; }

/** The refusals of winnow policy check --format json. */
export function problems(text: string): Problem[] {
  const v = JSON.parse(text) as { problems?: { file?: string; line?: number; problem?: string; fix?: string }[] };
  return (v.problems ?? []).filter((p) => p.file).map((p) => ({
    file: p.file ?? '', line: Math.max(0, (p.line ?? 1) - 1), message: [p.problem ?? 'refused', p.fix].filter(Boolean).join(': '),
  }));
}

/** The newest act on a terminal tab that can be brought back, of winnow trash --format json. The ids of acts sort by time. */
export function lastAct(text: string): { act: string; label: string } | undefined {
  const rows = ((JSON.parse(text) as { acts?: { intent: { id: string; candidate: string; label?: string } }[] }).acts ?? []).map((r) => r.intent);
  const last = rows.filter((r) => r.candidate.startsWith('tab:vscode/')).sort((a, b) => (a.id < b.id ? -1 : 1)).at(-1);
  return last && { act: last.id, label: last.label || last.candidate };
}
