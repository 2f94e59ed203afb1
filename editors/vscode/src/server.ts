// The socket that a window serves: protocol.schema.json. One JSON object a line.
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';

export const protocol = 1;

/** A terminal tab as it is told. What is not known is absent. Values of the environment and what a terminal shows are in no field. */
export interface Told {
  n: number; name: string; creation_name?: string; shape: 'shell' | 'task' | 'pty'; program?: string; cwd?: string; markers?: string[];
  pid?: number; start_ticks?: number; exit_code?: number; typed?: boolean; active: boolean; opened_at: string; shown_at?: string;
}

/** What a tab must be to be closed. What is absent must be absent. */
export interface Wanted { n: number; name: string; shape: string; creation_name?: string; pid?: number; start_ticks?: number; }

export type Code = 'bad_request' | 'unknown_method' | 'not_proved' | 'refused' | 'not_found' | 'changed' | 'failed';

/** An answer that says no. */
export class Refusal extends Error {
  constructor(readonly code: Code, message: string) { super(message); }
}

export interface Event { event: 'opened' | 'closed' | 'changed' | 'ended'; n: number; }

/** What the window can tell and do. */
export interface Window {
  about(): { extension: string; editor: { name: string; version: string }; folders: string[]; focused: boolean };
  list(markers: readonly string[]): Promise<Told[]>;
  dispose(want: Wanted): Promise<{ gone: boolean }>;
  open(name: string, cwd: string | undefined): Promise<{ n: number; pid?: number }>;
  onEvent(listen: (e: Event) => void): () => void;
}

export interface Options {
  window: Window; id: string; dir: string; uid: number; pid: number; startTicks: number;
  log(text: string): void;
  /** How long a connection may stay without its proof, in ms. */
  proofWithin?: number;
}

const maxLine = 1 << 20;
const maxConnections = 16;
const maxUnderWay = 32;
const maxUnread = 8 << 20;

export class Server {
  readonly file: string;
  private readonly server: net.Server;
  private readonly open = new Set<net.Socket>();

  constructor(private readonly o: Options) {
    this.file = path.join(o.dir, `${o.id}.sock`);
    this.server = net.createServer((s) => this.accept(s));
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(this.file, () => { this.server.off('error', reject); resolve(); });
    });
    fs.chmodSync(this.file, 0o600); // nobody else can be here: the folder is 0700
    this.server.on('error', (err) => this.o.log(`the socket failed: ${err.message}`));
  }

  stop(): void {
    this.server.close();
    for (const s of this.open) s.destroy();
    try { fs.unlinkSync(this.file); } catch { /* it is gone */ }
  }

  private accept(s: net.Socket): void {
    if (this.open.size >= maxConnections) { s.destroy(); return; }
    this.open.add(s);
    s.on('close', () => this.open.delete(s));
    s.on('error', () => s.destroy());
    new Conversation(this.o, s);
  }
}

class Conversation {
  private readonly challenge = randomBytes(16).toString('hex');
  private proved = false;
  private greeted = false;
  private pending = '';
  private underWay = 0;
  private stopEvents: (() => void) | undefined;
  private readonly decoder = new TextDecoder('utf-8', { fatal: true });

  constructor(private readonly o: Options, private readonly s: net.Socket) {
    const late = setTimeout(() => { if (!this.proved) s.destroy(); }, o.proofWithin ?? 5000);
    s.on('close', () => { clearTimeout(late); this.stopEvents?.(); });
    s.on('data', (data: Buffer) => this.take(data));
  }

  private take(data: Buffer): void {
    try {
      this.pending += this.decoder.decode(data, { stream: true });
    } catch {
      this.s.destroy();
      return;
    }
    for (let end = this.pending.indexOf('\n'); end >= 0; end = this.pending.indexOf('\n')) {
      const line = this.pending.slice(0, end);
      this.pending = this.pending.slice(end + 1);
      if (Buffer.byteLength(line) > maxLine || ++this.underWay > maxUnderWay) { this.s.destroy(); return; }
      void this.answer(line).finally(() => { this.underWay--; });
    }
    if (Buffer.byteLength(this.pending) > maxLine) this.s.destroy();
  }

  private async answer(line: string): Promise<void> {
    let id = '';
    try {
      const request = parse(line);
      id = request.id;
      this.send({ id, result: await this.run(request.method, request.params) });
    } catch (err) {
      const no = err instanceof Refusal ? err : new Refusal('failed', err instanceof Error ? err.message : String(err));
      this.send({ id, error: { code: no.code, message: no.message } });
      if (no.code === 'not_proved') this.s.end();
    }
  }

  private send(v: { id: string; result?: object; error?: object } | Event): void {
    if (this.s.destroyed) return;
    let line = JSON.stringify(v);
    if ('id' in v && Buffer.byteLength(line) > maxLine) line = JSON.stringify({ id: v.id, error: { code: 'failed', message: 'the answer is longer than 1 MiB' } });
    this.s.write(line + '\n');
    if (this.s.writableLength > maxUnread) this.s.destroy(); // it does not read, and the host keeps all of it in memory
  }

  private async run(method: string, params: Params): Promise<object> {
    if (method === 'hello') return this.hello(params);
    if (method === 'prove') return this.prove(params);
    if (!this.proved) throw new Refusal('not_proved', 'the first request is hello, the second is prove');
    const w = this.o.window;
    switch (method) {
      case 'terminals.list':
        only(params, ['markers']);
        return { terminals: await w.list(names(params['markers'])) };
      case 'terminal.dispose':
        return w.dispose(wanted(params));
      case 'terminal.open':
        only(params, ['name', 'cwd']);
        return w.open(text(params, 'name', 0, 256), params['cwd'] === undefined ? undefined : text(params, 'cwd', 1, 4096));
      case 'events':
        only(params, []);
        this.stopEvents ??= w.onEvent((e) => this.send(e));
        return {};
    }
    throw new Refusal('unknown_method', `there is no method ${JSON.stringify(method.slice(0, 40))}`);
  }

  private hello(params: Params): object {
    only(params, ['protocol']);
    if (params['protocol'] !== protocol) throw new Refusal('bad_request', `this window speaks protocol ${protocol}`);
    this.greeted = true;
    return { protocol, window: this.o.id, pid: this.o.pid, start_ticks: this.o.startTicks, challenge: this.challenge };
  }

  /** Only this user can make a file in the folder that belongs to this user. What the window is and shows is told after that alone. */
  private prove(params: Params): object {
    only(params, []);
    if (!this.greeted) throw new Refusal('not_proved', 'the first request is hello, the second is prove');
    const file = path.join(this.o.dir, `${this.o.id}.${this.challenge}.proof`);
    let st: fs.Stats;
    try {
      st = fs.lstatSync(file);
    } catch {
      throw new Refusal('not_proved', 'there is no proof');
    }
    if (!st.isFile() || st.uid !== this.o.uid || (st.mode & 0o7777) !== 0o600 || st.size !== 0 || st.nlink !== 1) throw new Refusal('not_proved', 'the proof is not an empty file of this user');
    fs.unlinkSync(file);
    this.proved = true;
    return this.o.window.about();
  }
}

type Params = Record<string, unknown>;

function parse(line: string): { id: string; method: string; params: Params } {
  let v: unknown;
  try {
    v = JSON.parse(line);
  } catch {
    throw new Refusal('bad_request', 'the line is not JSON');
  }
  if (!isObject(v)) throw new Refusal('bad_request', 'the line is not an object');
  const { id, method, params = {} } = v;
  if (typeof id !== 'string' || id === '' || id.length > 64 || typeof method !== 'string' || !isObject(params)) throw new Refusal('bad_request', 'a request has an id, a method and params');
  only(v, ['id', 'method', 'params']);
  return { id, method, params };
}

function isObject(v: unknown): v is Params { return typeof v === 'object' && v !== null && !Array.isArray(v); }

function only(v: Params, allowed: readonly string[]): void {
  for (const key of Object.keys(v)) {
    if (!allowed.includes(key)) throw new Refusal('bad_request', `there is no member ${JSON.stringify(key.slice(0, 40))}`);
  }
}

function text(v: Params, key: string, least: number, most: number): string {
  const s = v[key];
  if (typeof s !== 'string' || s.length < least || s.length > most) throw new Refusal('bad_request', `${key} is a text of ${least} to ${most} characters`);
  return s;
}

function names(v: unknown): string[] {
  if (v === undefined) return [];
  if (!Array.isArray(v) || v.length > 256 || v.some((s) => typeof s !== 'string' || !/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(s))) throw new Refusal('bad_request', 'markers are names of variables');
  return v as string[];
}

const shapes = ['shell', 'task', 'pty'];

function wanted(v: Params): Wanted {
  only(v, ['n', 'name', 'shape', 'creation_name', 'pid', 'start_ticks']);
  const whole = (key: string, least: number): number => {
    const n = v[key];
    if (typeof n !== 'number' || !Number.isSafeInteger(n) || n < least) throw new Refusal('bad_request', `${key} is a whole number from ${least} on`);
    return n;
  };
  const out: Wanted = { n: whole('n', 1), name: '', shape: '' };
  for (const key of ['name', 'shape'] as const) {
    const s = v[key];
    if (typeof s !== 'string') throw new Refusal('bad_request', `${key} is a text`);
    out[key] = s;
  }
  if (!shapes.includes(out.shape)) throw new Refusal('bad_request', `shape is one of ${shapes.join(', ')}`);
  if (v['creation_name'] !== undefined) {
    if (typeof v['creation_name'] !== 'string') throw new Refusal('bad_request', 'creation_name is a text');
    out.creation_name = v['creation_name'];
  }
  if (v['pid'] !== undefined) out.pid = whole('pid', 1);
  if (v['start_ticks'] !== undefined) out.start_ticks = whole('start_ticks', 0);
  return out;
}
