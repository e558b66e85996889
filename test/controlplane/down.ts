import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, signalProcess, type ProcessIdentity } from './identity.ts';
import { readState, removeRunFiles } from './state.ts';

const GRACE_MS = 10_000;
const POLL_MS = 25;

/**
 * Ends the control plane that `up` started in `dir`, and removes its data; the logs stay. Ends no
 * process but those: each is known by pid and start time.
 *
 * @throws {Error} when a process does not end even by SIGKILL within ten seconds.
 */
export async function down(dir: string): Promise<void> {
  const state = readState(dir);
  if (state === undefined) {
    process.stdout.write(`nothing runs in ${dir}\n`);
    return;
  }
  const all: readonly ProcessIdentity[] = [state.supervisor, ...state.processes];
  signalProcess(state.supervisor, 'SIGTERM');
  if (!(await untilGone(all))) {
    for (const identity of all) signalProcess(identity, 'SIGKILL');
    if (!(await untilGone(all))) {
      const pids = all.filter(isAlive).map(({ pid }) => pid);
      throw new Error(`processes ${pids.join(', ')} do not end; they are in ${dir}/state.json`);
    }
  }
  removeRunFiles(dir, state);
  process.stdout.write(`down: ${dir} (its logs stay)\n`);
}

async function untilGone(all: readonly ProcessIdentity[]): Promise<boolean> {
  const deadline = Date.now() + GRACE_MS;
  while (all.some(isAlive)) {
    if (Date.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}
