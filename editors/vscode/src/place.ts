// Where a window's socket lies, and whether that folder can be trusted.
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';

export interface Place { readonly env: NodeJS.ProcessEnv; readonly uid: number; readonly run?: string; }

/** Why a folder cannot hold a socket. Nothing is served then. */
export class Unsafe extends Error {}

function owned(dir: string, uid: number): boolean {
  try {
    const st = fs.lstatSync(dir);
    return st.isDirectory() && st.uid === uid;
  } catch {
    return false;
  }
}

/** The folder that this window's socket goes into: below the user's runtime folder, or else below the folder for temporary files. */
export function folder({ env, uid, run = '/run/user' }: Place): string {
  for (const dir of [env.XDG_RUNTIME_DIR ?? '', path.join(run, String(uid))]) {
    if (path.isAbsolute(dir) && owned(dir, uid)) return path.join(dir, 'winnow', 'editors');
  }
  const tmp = env.TMPDIR && path.isAbsolute(env.TMPDIR) ? env.TMPDIR : '/tmp';
  return path.join(tmp, `winnow-${uid}`, 'editors');
}

/** Makes the folder, and refuses one that is a link, another user's, or open to others. */
export function prepare(dir: string, uid: number): void {
  for (const part of [path.dirname(dir), dir]) {
    try {
      fs.mkdirSync(part, { mode: 0o700 });
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw new Unsafe(`${part} cannot be made: ${(err as Error).message}`);
    }
    const st = fs.lstatSync(part);
    if (!st.isDirectory()) throw new Unsafe(`${part} is no folder`);
    if (st.uid !== uid) throw new Unsafe(`${part} belongs to user ${st.uid}, and this is user ${uid}`);
    if ((st.mode & 0o077) !== 0) throw new Unsafe(`other users may look into ${part}: chmod 700 it`);
  }
}

const socketName = /^[0-9a-f]{8}\.sock$/;
const proofName = /^[0-9a-f]{8}\.[0-9a-f]{32}\.proof$/;

/** Removes the sockets of windows that vanished, those older than a minute that nobody listens on, and proofs as old: a client was killed that made one. */
export async function removeStale(dir: string, now: number): Promise<string[]> {
  const removed: string[] = [];
  for (const name of fs.readdirSync(dir)) {
    const file = path.join(dir, name);
    try {
      if (now - fs.lstatSync(file).mtimeMs < 60_000 || !proofName.test(name) && !(socketName.test(name) && await refused(file))) continue;
      fs.unlinkSync(file);
      removed.push(name);
    } catch {
      // It went meanwhile, or is not ours to remove.
    }
  }
  return removed;
}

function refused(file: string): Promise<boolean> {
  return new Promise((resolve) => {
    const s = net.connect(file);
    s.setTimeout(1000, () => { s.destroy(); resolve(false); });
    s.on('connect', () => { s.destroy(); resolve(false); });
    s.on('error', (err: NodeJS.ErrnoException) => resolve(err.code === 'ECONNREFUSED'));
  });
}
