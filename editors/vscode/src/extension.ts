import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { bar, groups, lastAct, others, plain, problems, sum, unread, words, type Group, type Item, type State } from './model.ts';
import { folder, prepare, removeStale } from './place.ts';
import { policyRoot } from './policies.ts';
import { Server, type Window } from './server.ts';
import { failure, look, runner, Schedule, settingsOf, sweep, type Report, type Run, type Settings } from './sweeper.ts';
import { parseStartTicks, Terminals, type Remembered, type Tab } from './terminals.ts';

let stop: (() => void) | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel('Winnow', { log: true });
  const id = randomBytes(4).toString('hex');
  const terminals = watchTerminals(context);
  const served = await serve(id, context, terminals, log);
  const run = runner(() => settings().path);
  const companion = new Companion(context, id, run, log, served.unserved);
  const onTerminals = terminals.onEvent(() => companion.schedule.soon());
  stop = () => { companion.schedule.stop(); onTerminals(); served.server?.stop(); };
  context.subscriptions.push(log, { dispose: () => stop?.() });
  checkPolicies(context, run, log);
  companion.schedule.start();
}

export function deactivate(): void { stop?.(); }

function settings(): Settings {
  const c = vscode.workspace.getConfiguration('winnow');
  return settingsOf((key) => c.get(key));
}

function startTicks(pid: number | 'self'): number | undefined {
  try { return parseStartTicks(fs.readFileSync(`/proc/${pid}/stat`, 'utf8')); } catch { return undefined; }
}

function isFolder(dir: string): boolean { try { return fs.statSync(dir).isDirectory(); } catch { return false; } }

const memory = 'terminals';

function watchTerminals(context: vscode.ExtensionContext): Terminals<vscode.Terminal & Tab> {
  type T = vscode.Terminal & Tab;
  const terminals = new Terminals<T>({
    now: () => new Date(),
    startTicks, began: startTicks('self') ?? 0, isFolder,
    remember: (all) => void context.workspaceState.update(memory, all),
    create: (name, cwd) => vscode.window.createTerminal({ name, ...(cwd === undefined ? {} : { cwd }) }) as T,
  }, context.workspaceState.get<Remembered[]>(memory, []), vscode.window.activeTerminal as T | undefined);
  const processes = new WeakMap<vscode.TaskExecution, number>();
  for (const t of vscode.window.terminals) void terminals.found(t as T);
  context.subscriptions.push(
    vscode.window.onDidOpenTerminal((t) => void terminals.opened(t as T)),
    vscode.window.onDidCloseTerminal((t) => terminals.closed(t as T)),
    vscode.window.onDidChangeActiveTerminal((t) => terminals.activated(t as T | undefined)),
    vscode.window.onDidChangeTerminalState((t) => terminals.changed(t as T)),
    vscode.tasks.onDidStartTaskProcess((e) => { processes.set(e.execution, e.processId); terminals.taskStarted(e.processId); }),
    vscode.tasks.onDidEndTaskProcess((e) => terminals.taskEnded(processes.get(e.execution))),
  );
  return terminals;
}

async function serve(id: string, context: vscode.ExtensionContext, terminals: Terminals<vscode.Terminal & Tab>, log: vscode.LogOutputChannel): Promise<{ server?: Server; unserved: string }> {
  const window: Window = {
    about: () => ({
      extension: String(context.extension.packageJSON.version), editor: { name: vscode.env.appName, version: vscode.version },
      folders: (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === 'file').map((f) => real(f.uri.fsPath)), focused: vscode.window.state.focused,
    }),
    list: (markers) => terminals.list(markers), dispose: (want) => terminals.dispose(want), open: (name, cwd) => terminals.open(name, cwd), onEvent: (listen) => terminals.onEvent(listen),
  };
  try {
    const uid = process.geteuid?.(), ticks = startTicks('self');
    if (uid === undefined || ticks === undefined) throw new Error('/proc does not show this process; winnow sees terminals on Linux alone');
    const dir = folder({ env: process.env, uid });
    fs.mkdirSync(path.dirname(path.dirname(dir)), { recursive: true, mode: 0o700 });
    prepare(dir, uid);
    for (const name of await removeStale(dir, Date.now())) log.info(`removed the socket of a window that vanished: ${name}`);
    const server = new Server({ window, id, dir, uid, pid: process.pid, startTicks: ticks, log: (text) => log.error(text) });
    await server.start();
    log.info(`window ${id} is served on ${server.file}`);
    return { server, unserved: '' };
  } catch (err) {
    const unserved = (err as Error).message;
    log.error(`This window is not served, so winnow does not see its terminals, and they stay: ${unserved}. Mend that, and reload the window.`);
    return { unserved };
  }
}

function real(dir: string): string { try { return fs.realpathSync(dir); } catch { return dir; } }

type Node = { group: Group } | { item: Item };

const icons: Record<State, string> = { goes: 'trash', after: 'clock', waits: 'clock', ask: 'question', stays: 'pass' };

/** The view, the status bar item, the commands, and what drives them. */
class Companion implements vscode.TreeDataProvider<Node> {
  readonly schedule: Schedule;
  private list: Group[] = [];
  /** Worktrees and processes, and when they were looked at: only while the view is seen, and at most once a minute. */
  private others: Group[] = [];
  private lookedAt = 0;
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly bar = vscode.window.createStatusBarItem('winnow.status', vscode.StatusBarAlignment.Left, 0);
  private readonly alarms = new Set<string>();
  private told = '';
  private unseen: string;
  private readonly view: vscode.TreeView<Node>;
  private readonly documents = new Map<string, string>();

  constructor(context: vscode.ExtensionContext, private readonly id: string, private readonly run: Run, private readonly log: vscode.LogOutputChannel, private readonly unserved: string) {
    this.unseen = unserved;
    this.schedule = new Schedule(() => settings(), (apply) => this.sweep(apply));
    this.bar.name = 'Winnow';
    this.bar.command = 'winnow.terminals.focus';
    this.view = vscode.window.createTreeView('winnow.terminals', { treeDataProvider: this });
    this.show('', []);
    const command = (name: string, run: (item?: Node) => Promise<void> | void): vscode.Disposable => vscode.commands.registerCommand(name, run);
    context.subscriptions.push(this.bar, this.view, this.changed,
      this.view.onDidChangeVisibility((e) => { if (e.visible && !settings().apply) this.schedule.soon(); }),
      vscode.workspace.onDidChangeConfiguration((e) => { if (e.affectsConfiguration('winnow')) { this.schedule.restart(); this.schedule.soon(); } }),
      vscode.workspace.registerTextDocumentContentProvider('winnow', { provideTextDocumentContent: (uri) => this.documents.get(uri.path) ?? '' }),
      command('winnow.refresh', () => this.lookAgain(false)),
      command('winnow.sweepNow', () => this.lookAgain(true)),
      command('winnow.openLog', () => this.log.show()),
      command('winnow.explain', (n) => this.explain(n)),
      command('winnow.keep', (n) => this.keep(n)),
      command('winnow.release', (n) => this.release(n)),
      command('winnow.restoreLast', () => this.restoreLast()));
  }

  private async lookAgain(apply: boolean): Promise<void> {
    this.lookedAt = 0;
    await this.schedule.now(apply);
  }

  /** Looks at worktrees and processes. What cannot be looked at leaves the terminals as they are shown. */
  private async lookAtOthers(): Promise<void> {
    if (!this.view.visible || Date.now() - this.lookedAt < 60_000) return;
    const result = await look(this.run);
    if (result.kind !== 'report') {
      if (result.kind === 'failed') this.log.warn(`look at worktrees and processes: ${result.why}`);
      return;
    }
    this.lookedAt = Date.now();
    this.others = others(result.report);
    this.changed.fire();
  }

  private async sweep(apply: boolean): Promise<void> {
    await this.sweepTerminals(apply);
    await this.lookAtOthers();
  }

  private async sweepTerminals(apply: boolean): Promise<void> {
    const result = await sweep(this.run, apply);
    switch (result.kind) {
      case 'missing':
        this.others = [];
        this.show('missing', []);
        this.say(`The program ${settings().path} was not found, so nothing is looked at. Install winnow, or set winnow.path.`);
        return;
      case 'busy': // another window's, or a person's: its end is an event of no terminal
        this.schedule.soon(apply && !settings().apply);
        return;
      case 'failed':
        this.show('failed', this.list);
        this.say(failure(result.why, apply));
        return;
    }
    const list = groups(result.report, this.id, settings().apply), not = unread(result.report, this.id);
    this.unseen = this.unserved || not.window;
    this.say([this.unserved ? '' : not.window && `winnow does not see this window, so the terminals here stay: ${not.window}`, ...not.others].filter(Boolean).join('\n'));
    this.show(list.length ? 'some' : this.unseen ? 'unseen' : not.others.length ? 'unread' : 'empty', list);
    this.report(result.report);
  }

  private report(r: Report): void {
    for (const act of r.acts ?? []) this.log.info(`${act.outcome}: ${act.candidate}: ${act.detail ?? ''}`);
    for (const alarm of r.alarms ?? []) {
      const text = `${alarm.rule}: ${alarm.message}`;
      if (this.alarms.has(text)) continue;
      this.alarms.add(text);
      this.log.warn(text);
      void vscode.window.showWarningMessage(`Winnow: ${plain(alarm.message)}`, 'Open the Log').then((chosen) => { if (chosen) this.log.show(); });
    }
  }

  /** Says what is the matter once, until something else is; empty is nothing. */
  private say(text: string): void {
    if (text && this.told !== text) this.log.error(text);
    this.told = text;
  }

  private show(state: string, list: Group[]): void {
    this.list = list;
    void vscode.commands.executeCommand('setContext', 'winnow.state', state);
    const s = bar(state, list, this.unseen);
    if (s) {
      this.bar.text = s.text;
      this.bar.accessibilityInformation = { label: s.spoken };
      this.bar.tooltip = s.spoken;
      this.bar.show();
    } else {
      this.bar.hide();
    }
    this.changed.fire();
  }

  getChildren(node?: Node): Node[] {
    if (!node) return [...this.list, ...this.others].map((group) => ({ group }));
    return 'group' in node ? node.group.items.map((item) => ({ item })) : [];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if ('group' in node) {
      const { title, owner } = node.group;
      const t = new vscode.TreeItem(title ?? (owner ? path.basename(owner) : 'no owner'), vscode.TreeItemCollapsibleState[title ? 'Collapsed' : 'Expanded']);
      t.id = title ? `others:${title}` : `group:${owner}`;
      t.tooltip = owner;
      if (title) t.description = sum(node.group);
      return t;
    }
    const { item } = node;
    const t = new vscode.TreeItem(item.label);
    t.id = item.id;
    t.description = `${words[item.state]}: ${item.why}`;
    t.tooltip = `${item.label}\n${words[item.state]}: ${item.why}\n${item.next}\n${item.id}`;
    t.iconPath = new vscode.ThemeIcon(icons[item.state]);
    t.contextValue = item.held ? 'held' : 'candidate';
    t.accessibilityInformation = { label: `${item.label}, ${words[item.state]}: ${item.why}. ${item.next}` };
    return t;
  }

  /** The item of a command: the one it was called on, the one that is selected, or one that the person picks. */
  private async item(node: Node | undefined, title: string, among: (i: Item) => boolean = () => true): Promise<Item | undefined> {
    const n = node ?? this.view.selection[0];
    if (n && 'item' in n) return n.item;
    const all = [...this.list, ...this.others].flatMap((g) => g.items).filter(among);
    if (!all.length) { void vscode.window.showInformationMessage('Winnow: there is nothing of the kind here.'); return undefined; }
    const picked = await vscode.window.showQuickPick(all.map((item) => ({ label: item.label, description: words[item.state], detail: item.why, item })), { title });
    return picked?.item;
  }

  private async winnow(args: string[], doing: string): Promise<string | undefined> {
    const ran = await this.run(args);
    if (ran.code === 0) return ran.stdout;
    const why = ran.missing ? `the program ${settings().path} was not found` : ran.stderr.trim() || `it ended with ${ran.code}`;
    this.log.error(`${doing}: ${why}`);
    void vscode.window.showErrorMessage(plain(`Winnow: ${doing}: ${why}`));
    return undefined;
  }

  private async explain(node?: Node): Promise<void> {
    const item = await this.item(node, 'Explain what?');
    const text = item && await this.winnow(['explain', item.id, '--no-color'], `explain ${item.label}`);
    if (!item || text === undefined) return;
    const at = `/${item.id.replace(/[^A-Za-z0-9.-]/g, '_')}-${Date.now()}.txt`;
    this.documents.clear();
    this.documents.set(at, text);
    const doc = await vscode.workspace.openTextDocument(vscode.Uri.from({ scheme: 'winnow', path: at }));
    // Its lines are sentences: the language has them wrapped.
    await vscode.window.showTextDocument(await vscode.languages.setTextDocumentLanguage(doc, 'winnow-explanation'), { preview: true });
  }

  private async keep(node?: Node): Promise<void> {
    const item = await this.item(node, 'Keep what?', (i) => !i.held);
    if (!item) return;
    const reason = await vscode.window.showInputBox({ title: `Keep ${item.label}`, prompt: 'Why is it kept?', value: 'still needed' });
    if (reason && await this.winnow(['retain', item.id, '--reason', reason], `keep ${item.label}`) !== undefined) await this.lookAgain(false);
  }

  private async release(node?: Node): Promise<void> {
    const item = await this.item(node, 'Release what?', (i) => i.held);
    if (item && await this.winnow(['release', item.id], `release ${item.label}`) !== undefined) await this.lookAgain(false);
  }

  private async restoreLast(): Promise<void> {
    const text = await this.winnow(['trash', '--format', 'json'], 'list what can be brought back');
    if (text === undefined) return;
    const last = lastAct(text);
    if (!last) { void vscode.window.showInformationMessage('Winnow: no terminal of an editor can be brought back.'); return; }
    const said = await this.winnow(['restore', last.act], `restore ${last.label}`);
    if (said !== undefined) { this.log.info(said.trim()); vscode.window.setStatusBarMessage(`Winnow: ${last.label} is open again`, 5000); }
  }
}

/** The refusals of policies, shown where they stand when a file of policies is saved. */
function checkPolicies(context: vscode.ExtensionContext, run: Run, log: vscode.LogOutputChannel): void {
  const found = vscode.languages.createDiagnosticCollection('winnow');
  const last = new Map<string, number>();
  context.subscriptions.push(found, vscode.workspace.onDidSaveTextDocument(async (doc) => {
    const root = doc.uri.scheme === 'file' ? policyRoot(doc.uri.fsPath, doc.getText(), isFolder) : undefined;
    if (!root) return;
    const turn = (last.get(root) ?? 0) + 1;
    last.set(root, turn);
    const ran = await run(['policy', 'check', root, '--format', 'json']);
    if (last.get(root) !== turn) return; // a later save is being checked
    let list;
    try {
      list = problems(ran.stdout);
    } catch {
      log.warn(`check the policies in ${root}: ${ran.stderr.trim() || 'winnow gave no answer'}`);
      return;
    }
    found.forEach((uri) => { if (uri.fsPath.startsWith(root + path.sep)) found.delete(uri); });
    const by = new Map<string, vscode.Diagnostic[]>();
    for (const p of list) {
      const file = path.isAbsolute(p.file) ? p.file : path.join(root, p.file);
      by.set(file, [...(by.get(file) ?? []), new vscode.Diagnostic(new vscode.Range(p.line, 0, p.line, 200), p.message, vscode.DiagnosticSeverity.Error)]);
    }
    for (const [file, all] of by) found.set(vscode.Uri.file(file), all.map((d) => { d.source = 'winnow policy check'; return d; }));
  }));
}
