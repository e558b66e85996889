import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { identify, isAlive, type ProcessIdentity } from './identity.ts';

const POLL_MS = 250;

/**
 * Runs `work` while this process alone holds the lock file, waiting for its turn as long as the
 * holder lives. A holder that died leaves its file: it is taken over.
 *
 * @param onWait called once, with the holder's pid, when another process has the lock.
 */
export async function withLock<T>(
  path: string,
  work: () => Promise<T>,
  onWait: (pid: number) => void = () => undefined,
): Promise<T> {
  let told = false;
  while (!tryLock(path)) {
    const holder = readHolder(path);
    if (holder !== undefined && isAlive(holder)) {
      if (!told) onWait(holder.pid);
      told = true;
      await delay(POLL_MS);
      continue;
    }
    // Unreadable is a file being written or a crash in between: look twice before taking over.
    await delay(POLL_MS);
    if (sameHolder(holder, readHolder(path))) rmSync(path, { force: true });
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

function tryLock(path: string): boolean {
  let file: number;
  try {
    file = openSync(path, 'wx');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  try {
    writeSync(file, JSON.stringify(identify(process.pid)));
  } finally {
    closeSync(file);
  }
  return true;
}

function readHolder(path: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

function sameHolder(a: ProcessIdentity | undefined, b: ProcessIdentity | undefined): boolean {
  return a?.pid === b?.pid && a?.startedAt === b?.startedAt;
}
