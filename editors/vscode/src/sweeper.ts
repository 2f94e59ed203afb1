// Runs winnow: when, how, and what of its report a window needs. Without vscode.
import { execFile } from 'node:child_process';
import * as os from 'node:os';

export interface Reason { rule: string; message: string; }
export interface Decision {
  id: string; kind: string; verdict: 'reap' | 'spare'; label?: string; owner?: string; level?: string; after?: string[];
  findings?: Reason[]; objections?: Reason[]; main?: { rule?: string; group: string; message: string; next?: string };
}
export interface Report {
  decisions: Decision[]; acts?: { id: string; candidate: string; outcome: string; detail?: string }[]; alarms?: { rule: string; message: string }[];
}

export type Result =
  | { kind: 'report'; report: Report; code: number }
  | { kind: 'missing' }
  | { kind: 'busy' }
  | { kind: 'failed'; why: string };

export interface Ran { code: number; stdout: string; stderr: string; missing: boolean; late: boolean; }
export type Run = (args: string[], input?: string) => Promise<Ran>;

const maxOutput = 32 << 20;

/** Runs the program without a shell, in the home folder: what lies in a workspace is anybody's. */
export function runner(program: () => string, within = 60_000): Run {
  return (args) => new Promise((resolve) => {
    execFile(program(), args, { cwd: os.homedir(), timeout: within, killSignal: 'SIGTERM', maxBuffer: maxOutput, encoding: 'utf8' }, (err, stdout, stderr) => {
      const e = err as (NodeJS.ErrnoException & { killed?: boolean; code?: string | number }) | null;
      resolve({ code: e === null ? 0 : typeof e.code === 'number' ? e.code : 1, stdout, stderr, missing: e?.code === 'ENOENT' || e?.code === 'EACCES', late: e?.killed === true });
    });
  });
}

export const sweepArgs = (apply: boolean): string[] => ['sweep', '--kind', 'tab,terminal', '--format', 'json', ...(apply ? ['--apply'] : [])];

/** One sweep. A report is given with any exit code that comes with one: a source that failed, or a cap that held, is in it. */
export async function sweep(run: Run, apply: boolean): Promise<Result> {
  const ran = await run(sweepArgs(apply));
  if (ran.missing) return { kind: 'missing' };
  if (ran.late) return { kind: 'failed', why: 'winnow did not end within a minute, and was stopped' };
  try {
    const report = JSON.parse(ran.stdout) as Report;
    if (Array.isArray(report.decisions)) return { kind: 'report', report, code: ran.code };
  } catch {
    // said below
  }
  if (ran.stderr.includes('another sweep is running')) return { kind: 'busy' };
  return { kind: 'failed', why: ran.stderr.trim() || `winnow ended with ${ran.code} and gave no report` };
}

export interface Timing { apply: boolean; everyMs: number; }

/** Decides when to sweep: after a burst of events, at intervals while sweeping is on, and one at a time. */
export class Schedule {
  private timer: NodeJS.Timeout | undefined;
  private interval: NodeJS.Timeout | undefined;
  private running = false;
  private again = false;
  private stopped = false;

  constructor(private readonly timing: () => Timing, private readonly work: (apply: boolean) => Promise<void>) {}

  start(): void {
    this.restart();
    this.soon();
  }

  /** restart takes over changed settings. */
  restart(): void {
    clearInterval(this.interval);
    const { apply, everyMs } = this.timing();
    if (apply && !this.stopped) this.interval = setInterval(() => void this.now(), Math.max(5000, everyMs));
  }

  /** soon sweeps when no further event came for a moment. */
  soon(): void {
    clearTimeout(this.timer);
    if (!this.stopped) this.timer = setTimeout(() => void this.now(), this.timing().apply ? 1000 : 2000);
  }

  async now(apply = this.timing().apply): Promise<void> {
    if (this.stopped) return;
    if (this.running) { this.again = true; return; }
    this.running = true;
    try {
      await this.work(apply);
    } finally {
      this.running = false;
      if (this.again) { this.again = false; this.soon(); }
    }
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    clearInterval(this.interval);
  }
}
