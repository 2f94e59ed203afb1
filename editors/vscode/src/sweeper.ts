// Runs winnow: when, how, and what of its report a window needs. Without vscode.
import { execFile, type ExecFileException } from 'node:child_process';
import * as os from 'node:os';

export interface Reason { rule: string; message: string; }
export interface Decision {
  id: string; kind: string; verdict: 'reap' | 'spare'; label?: string; owner?: string; level?: string; after?: string[];
  findings?: Reason[]; objections?: Reason[]; main?: { rule?: string; group: string; message: string; next?: string };
}
export interface Report {
  decisions: Decision[]; acts?: { id: string; candidate: string; outcome: string; detail?: string }[]; alarms?: { rule: string; message: string }[];
  sources?: Record<string, { kind: string; status: string; error?: string }>;
}

export type Result =
  | { kind: 'report'; report: Report; code: number }
  | { kind: 'missing' }
  | { kind: 'busy' }
  | { kind: 'failed'; why: string };

export interface Ran { code: number; stdout: string; stderr: string; missing: boolean; late: boolean; }
export type Run = (args: string[], input?: string) => Promise<Ran>;

const maxOutput = 32 << 20;

/** How long a program that was told to end may take to note what it did, in ms. Then it is killed. */
const endsWithin = 10_000;

/** Runs the program without a shell, in the home folder: what lies in a workspace is anybody's. It never rejects. */
export function runner(program: () => string, within = 60_000, grace = endsWithin): Run {
  return (args) => new Promise((resolve) => {
    const ended = (err: ExecFileException | null, stdout: string, stderr: string): void => {
      clearTimeout(kill);
      const full = err?.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER';
      resolve({
        code: err === null ? 0 : typeof err.code === 'number' ? err.code : 1, stdout, stderr: full ? 'it printed more than 32 MiB, and was stopped' : stderr,
        missing: err?.code === 'ENOENT' || err?.code === 'EACCES', late: err?.killed === true && !full,
      });
    };
    let kill: NodeJS.Timeout | undefined;
    try {
      const child = execFile(program(), args, { cwd: os.homedir(), timeout: within, killSignal: 'SIGTERM', maxBuffer: maxOutput, encoding: 'utf8' }, ended);
      kill = setTimeout(() => child.kill('SIGKILL'), within + grace);
    } catch (err) { // a name that cannot be one of a program
      ended(err as Error, '', (err as Error).message);
    }
  });
}

export const sweepArgs = (apply: boolean): string[] => ['sweep', '--kind', 'tab,terminal', '--format', 'json', '--no-color', ...(apply ? ['--apply'] : [])];

/** What a dry look at worktrees and processes is asked with. No window acts on these by itself. */
export const lookArgs = ['sweep', '--kind', 'dir,process', '--format', 'json', '--no-color'];

/** One sweep. A report is given with any exit code that comes with one: a source that failed, or a cap that held, is in it. */
export const sweep = (run: Run, apply: boolean): Promise<Result> => report(run, sweepArgs(apply));

/** One look at what is not a terminal. */
export const look = (run: Run): Promise<Result> => report(run, lookArgs);

async function report(run: Run, args: string[]): Promise<Result> {
  const ran = await run(args);
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

/** What a person is told of a run that failed. One that could apply may have closed something before. */
export function failure(why: string, apply: boolean): string {
  return apply ? `winnow failed: ${why}. What it closed before that is in "winnow history".` : `winnow failed, and nothing was closed: ${why}`;
}

export interface Settings { path: string; apply: boolean; everyMs: number; }

/** The settings, as far as they are of the right kind: a person may write anything into the file. */
export function settingsOf(get: (key: string) => unknown): Settings {
  const name = get('path'), every = get('every');
  return {
    path: typeof name === 'string' && name.trim() !== '' ? name : 'winnow',
    apply: get('sweep') === true,
    everyMs: 1000 * (typeof every === 'number' && Number.isFinite(every) ? Math.min(86_400, Math.max(5, every)) : 30),
  };
}

export type Timing = Pick<Settings, 'apply' | 'everyMs'>;

/** Decides when to sweep: after a burst of events, at intervals while sweeping is on, and one at a time. */
export class Schedule {
  private timer: NodeJS.Timeout | undefined;
  private interval: NodeJS.Timeout | undefined;
  private running = false;
  private again = false;
  private asked = false;
  private stopped = false;

  /** work never rejects. */
  constructor(private readonly timing: () => Timing, private readonly work: (apply: boolean) => Promise<void>) {}

  start(): void {
    this.restart();
    this.soon();
  }

  /** restart takes over changed settings. */
  restart(): void {
    clearInterval(this.interval);
    const { apply, everyMs } = this.timing();
    if (apply && !this.stopped) this.interval = setInterval(() => void this.now(), everyMs);
  }

  /** soon sweeps when no further event came for a moment; asked is whether a person asked for one that applies. */
  soon(asked = false): void {
    this.asked ||= asked;
    clearTimeout(this.timer);
    if (!this.stopped) this.timer = setTimeout(() => void this.now(), this.timing().apply ? 1000 : 2000);
  }

  /** now sweeps, or does so after the sweep that is under way. Without apply the settings say whether it applies. */
  async now(apply?: boolean): Promise<void> {
    if (this.stopped) return;
    if (apply) this.asked = true;
    if (this.running) { this.again = true; return; }
    this.running = true;
    const applies = this.asked || (apply ?? this.timing().apply);
    this.asked = false;
    try {
      await this.work(applies);
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
