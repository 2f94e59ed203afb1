// What a window knows of its terminal tabs. Without vscode: the editor's objects are given as Tab.
import * as path from 'node:path';
import { Refusal, type Event, type Told, type Wanted } from './server.ts';

/** A terminal of the editor, as far as it is asked. */
export interface Tab {
  readonly name: string;
  readonly processId: Thenable<number | undefined>;
  readonly creationOptions: { name?: string; shellPath?: string; cwd?: string | { fsPath: string }; env?: Record<string, string | null | undefined>; pty?: unknown };
  readonly exitStatus?: { code: number | undefined } | undefined;
  readonly state: { isInteractedWith: boolean };
  dispose(): void;
}
type Thenable<T> = PromiseLike<T>;

/** What is remembered of a process's tab over a reload of the window, which loses it. Names of variables, never values. */
export interface Remembered { pid: number; ticks: number; creation_name?: string; program?: string; variables?: string[]; typed?: boolean; opened_at: string; task: boolean; }

export interface World {
  now(): Date;
  /** Field 22 of /proc/PID/stat, undefined where there is no such process. */
  startTicks(pid: number): number | undefined;
  /** When the extension host began, in the same ticks. */
  began: number;
  remember(all: Remembered[]): void;
  isFolder(dir: string): boolean;
  create(name: string, cwd: string | undefined): Tab;
}

interface Known {
  n: number; tab: Tab; openedAt: Date; shownAt?: Date; pid?: number; ticks?: number; task: boolean;
  creationName?: string | undefined; program?: string | undefined; variables?: string[] | undefined;
  /** Whether this host saw it open: what was not given then is known to be empty. Otherwise it is unknown. */
  whole: boolean; typed?: boolean | undefined;
}

const maxRemembered = 200;
const closesWithin = 2000;

export class Terminals<T extends Tab> {
  private readonly known = new Map<T, Known>();
  private readonly closing = new Map<T, () => void>();
  private readonly listeners = new Set<(e: Event) => void>();
  private readonly tasks = new Set<number>();
  private last = 0;

  constructor(private readonly world: World, private readonly before: readonly Remembered[], private active: T | undefined) {}

  /** found is a tab that was there before the extension was: how it was opened may not be known any more. */
  async found(tab: T): Promise<void> { await this.add(tab, false); }

  async opened(tab: T): Promise<void> { await this.add(tab, true); }

  private async add(tab: T, whole: boolean): Promise<void> {
    if (this.known.has(tab)) return;
    const o = tab.creationOptions;
    const k: Known = { n: ++this.last, tab, openedAt: this.world.now(), task: false, whole };
    if (whole) {
      k.creationName = o.name ?? '';
      k.program = o.shellPath === undefined ? '' : path.basename(o.shellPath);
      k.variables = variables(o.env);
    } else if (o.name) {
      k.creationName = o.name;
    }
    this.known.set(tab, k);
    if (tab === this.active) k.shownAt = k.openedAt;
    this.tell('opened', k);
    void settled(tab.processId).then(() => this.look(k)); // a process may start late, and end soon after
    await this.look(k);
    this.save();
  }

  /**
   * The editor brings the terminals of a reloaded window back one by one, some after the extension began, and says "opened" of them. A process that
   * is older than this host tells them apart.
   */
  private wasBefore(k: Known): void {
    k.whole = false;
    delete k.creationName;
    delete k.program;
    delete k.variables;
    if (k.tab.creationOptions.name) k.creationName = k.tab.creationOptions.name;
  }

  /** Takes over what was remembered of the same process before the window was loaded again. */
  private recall(k: Known): void {
    const was = this.before.find((r) => r.pid === k.pid && r.ticks === k.ticks);
    if (!was) return;
    k.creationName ??= was.creation_name;
    k.program = was.program;
    k.variables = was.variables;
    k.typed = was.typed;
    k.openedAt = new Date(was.opened_at);
    k.task = was.task;
  }

  /** The editor gives a reused terminal another process, so it is asked every time. */
  private async look(k: Known): Promise<void> {
    const pid = await soon(k.tab.processId, 500);
    if (pid === undefined || pid <= 0 || pid === k.pid) return;
    k.pid = pid;
    const ticks = this.world.startTicks(pid);
    if (ticks === undefined) delete k.ticks; else k.ticks = ticks;
    if (k.whole && ticks !== undefined && ticks < this.world.began) this.wasBefore(k);
    if (!k.whole) this.recall(k);
    this.tell('changed', k);
    this.save();
  }

  closed(tab: T): void {
    const k = this.known.get(tab);
    if (!k) return;
    this.known.delete(tab);
    this.closing.get(tab)?.();
    this.tell('closed', k);
    this.save();
  }

  taskStarted(pid: number | undefined): void {
    if (pid === undefined || pid <= 0) return;
    this.tasks.add(pid);
    for (const k of this.known.values()) {
      if (k.pid === pid) { this.tell('changed', k); this.save(); } else void this.look(k); // a task may reuse a terminal, which has another process then
    }
  }

  /** pid is undefined where the editor did not say which process it was: then it may be any task's. */
  taskEnded(pid: number | undefined): void {
    for (const k of this.known.values()) if (pid === undefined ? this.isTask(k) : k.pid === pid) this.tell('ended', k);
  }

  activated(tab: T | undefined): void {
    this.active = tab;
    const k = tab && this.known.get(tab);
    if (k) k.shownAt = this.world.now();
  }

  changed(tab: T): void {
    const k = this.known.get(tab);
    if (k) this.tell('changed', k);
    this.save();
  }

  onEvent(listen: (e: Event) => void): () => void {
    this.listeners.add(listen);
    return () => { this.listeners.delete(listen); };
  }

  private tell(event: Event['event'], k: { n: number }): void {
    for (const listen of this.listeners) listen({ event, n: k.n });
  }

  private save(): void {
    const all: Remembered[] = [];
    for (const k of this.known.values()) {
      if (k.pid === undefined || k.ticks === undefined) continue;
      const r: Remembered = { pid: k.pid, ticks: k.ticks, opened_at: k.openedAt.toISOString(), task: this.isTask(k) };
      if (k.creationName !== undefined) r.creation_name = k.creationName;
      if (k.program !== undefined) r.program = k.program;
      if (k.variables !== undefined) r.variables = k.variables;
      const typed = this.typed(k);
      if (typed !== undefined) r.typed = typed;
      all.push(r);
    }
    this.world.remember(all.slice(-maxRemembered));
  }

  private isTask(k: Known): boolean { return k.task || k.pid !== undefined && this.tasks.has(k.pid); }

  private typed(k: Known): boolean | undefined {
    if (k.tab.state.isInteractedWith) return true;
    return k.whole ? false : k.typed;
  }

  async list(markers: readonly string[]): Promise<Told[]> {
    await Promise.all([...this.known.values()].map((k) => this.look(k)));
    return [...this.known.values()].map((k) => this.told(k, markers));
  }

  private told(k: Known, markers: readonly string[]): Told {
    const o = k.tab.creationOptions;
    const t: Told = { n: k.n, name: k.tab.name, shape: o.pty ? 'pty' : this.isTask(k) ? 'task' : 'shell', active: k.tab === this.active, opened_at: k.openedAt.toISOString() };
    if (k.creationName !== undefined) t.creation_name = k.creationName;
    if (k.program !== undefined && !o.pty) t.program = k.program;
    const cwd = typeof o.cwd === 'string' ? o.cwd : o.cwd?.fsPath;
    if (cwd) t.cwd = cwd;
    if (k.variables !== undefined) t.markers = markers.filter((m) => k.variables?.includes(m));
    if (k.pid !== undefined && !o.pty) t.pid = k.pid;
    if (t.pid !== undefined && k.ticks !== undefined) t.start_ticks = k.ticks;
    const code = k.tab.exitStatus?.code;
    if (code !== undefined) t.exit_code = code;
    const typed = this.typed(k);
    if (typed !== undefined) t.typed = typed;
    if (k.shownAt) t.shown_at = k.shownAt.toISOString();
    return t;
  }

  /** Closes one tab that is in everything what want says. */
  async dispose(want: Wanted): Promise<{ gone: boolean }> {
    const k = [...this.known.values()].find((x) => x.n === want.n);
    if (!k) throw new Refusal('not_found', `this window has no terminal ${want.n}`);
    await this.look(k);
    const now = this.told(k, []);
    for (const key of ['name', 'shape', 'creation_name', 'pid', 'start_ticks'] as const) {
      if (now[key] !== want[key]) throw new Refusal('changed', `its ${key} is another one now; it was left untouched`);
    }
    let timer: NodeJS.Timeout | undefined;
    const gone = new Promise<boolean>((resolve) => {
      this.closing.set(k.tab as T, () => resolve(true));
      timer = setTimeout(() => resolve(!this.known.has(k.tab as T)), closesWithin);
    });
    try {
      k.tab.dispose();
      return { gone: await gone };
    } finally {
      clearTimeout(timer);
      this.closing.delete(k.tab as T);
    }
  }

  async open(name: string, cwd: string | undefined): Promise<{ n: number; pid?: number }> {
    if (cwd !== undefined && !(path.isAbsolute(cwd) && this.world.isFolder(cwd))) throw new Refusal('refused', 'the folder is not there; nothing was opened');
    const tab = this.world.create(name, cwd) as T;
    await this.opened(tab);
    const k = this.known.get(tab);
    if (!k) throw new Refusal('failed', 'the terminal was closed at once');
    return k.pid === undefined ? { n: k.n } : { n: k.n, pid: k.pid };
  }
}

/** The names of the variables that are set; null unsets one. */
function variables(env: Record<string, string | null | undefined> | undefined): string[] {
  return Object.entries(env ?? {}).filter(([, v]) => typeof v === 'string' && v !== '').map(([name]) => name);
}

async function settled(p: PromiseLike<unknown>): Promise<void> {
  try { await p; } catch { /* the editor lost the terminal */ }
}

async function soon<V>(p: PromiseLike<V>, ms: number): Promise<V | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => { timer = setTimeout(() => resolve(undefined), ms); });
  try {
    return await Promise.race([p, late]);
  } catch {
    return undefined; // the editor lost the terminal
  } finally {
    clearTimeout(timer);
  }
}

/** Field 22 of a stat file. The name in brackets may hold anything, so it ends at the last ')'. */
export function parseStartTicks(stat: string): number | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[19]);
  return Number.isSafeInteger(ticks) && fields.length > 19 ? ticks : undefined;
}
