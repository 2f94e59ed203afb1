// Opens terminals as Codev's extension and agents' extensions do, and says which terminals the window has. Driven over a socket by a test.
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const vscode = require('vscode');

const ptys = new Map();

function pty(name) {
  const write = new vscode.EventEmitter();
  const t = vscode.window.createTerminal({
    name,
    pty: { onDidWrite: write.event, open: () => write.fire(`connected to ${name}\r\n`), close: () => {} },
  });
  ptys.set(name, write);
  t.show(true);
}

const calls = {
  pty: ({ name }) => pty(name),
  end: ({ name }) => ptys.get(name)?.fire('\r\n[Process exited]\r\n'),
  shell: ({ name, env, shellPath, shellArgs, show }) => {
    const t = vscode.window.createTerminal({ ...(name ? { name } : {}), ...(env ? { env } : {}), ...(shellPath ? { shellPath, shellArgs } : {}) });
    if (show !== false) t.show(true);
  },
  task: async ({ name, command, args, env, cwd }) => {
    const task = new vscode.Task({ type: 'agent', name }, vscode.TaskScope.Workspace, name, 'agent', new vscode.ProcessExecution(command, args ?? [], { ...(env ? { env } : {}), ...(cwd ? { cwd } : {}) }));
    task.presentationOptions = { panel: vscode.TaskPanelKind.New, reveal: vscode.TaskRevealKind.Silent };
    await vscode.tasks.executeTask(task);
  },
  active: () => vscode.window.activeTerminal?.name ?? '',
  show: ({ name }) => vscode.window.terminals.find((t) => t.name === name)?.show(true),
  send: ({ name, text }) => vscode.window.terminals.find((t) => t.name === name)?.sendText(text),
  list: async () => Promise.all(vscode.window.terminals.map(async (t) => ({
    name: t.name, pid: (await Promise.race([t.processId, new Promise((r) => setTimeout(r, 300))])) ?? 0, code: t.exitStatus?.code ?? null,
  }))),
  command: async ({ command, args }) => (await vscode.commands.executeCommand(command, ...(args ?? []))) ?? null,
  documents: () => vscode.workspace.textDocuments.map((d) => ({ scheme: d.uri.scheme, text: d.getText() })),
  diagnostics: () => vscode.languages.getDiagnostics().flatMap(([uri, all]) => all.map((d) => ({ file: uri.fsPath, line: d.range.start.line, message: d.message, source: d.source }))),
  editDocument: async ({ file, text }) => {
    const doc = await vscode.workspace.openTextDocument(file);
    const edit = new vscode.WorkspaceEdit();
    edit.replace(doc.uri, new vscode.Range(0, 0, doc.lineCount, 0), text);
    await vscode.workspace.applyEdit(edit);
    await doc.save();
  },
  setting: ({ name, value }) => vscode.workspace.getConfiguration().update(name, value, vscode.ConfigurationTarget.Global),
  host: () => process.pid,
};

exports.activate = () => {
  const dir = process.env.CODEV_LIKE_CONTROL;
  const name = path.basename(vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? 'none');
  const file = path.join(dir, `${name}.sock`);
  fs.rmSync(file, { force: true });
  net.createServer((s) => {
    let pending = '';
    s.on('error', () => {});
    s.on('data', async (data) => {
      pending += data;
      for (let end = pending.indexOf('\n'); end >= 0; end = pending.indexOf('\n')) {
        const { call, ...rest } = JSON.parse(pending.slice(0, end));
        pending = pending.slice(end + 1);
        try {
          s.write(JSON.stringify({ result: (await calls[call](rest)) ?? null }) + '\n');
        } catch (err) {
          s.write(JSON.stringify({ error: String(err) }) + '\n');
        }
      }
    });
  }).listen(file);
};
