import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, type ProcessIdentity } from './identity.ts';

/** What `up` leaves in its folder for `down` and for the next `up`. */
export interface ControlPlaneState {
  /** Owns all other processes: they end when it ends. */
  readonly supervisor: ProcessIdentity;
  readonly processes: readonly (ProcessIdentity & { readonly name: string })[];
  readonly clusters: readonly {
    readonly name: string;
    readonly server: string;
    readonly kubeconfig: string;
  }[];
  readonly kubectl: string;
}

const fileIn = (dir: string): string => join(dir, 'state.json');

/** Reads the state of a folder; undefined when nothing was started there. */
export function readState(dir: string): ControlPlaneState | undefined {
  let text: string;
  try {
    text = readFileSync(fileIn(dir), 'utf8');
  } catch {
    return undefined;
  }
  return JSON.parse(text) as ControlPlaneState;
}

/** Writes the state so that a reader sees all of it or none. */
export function writeState(dir: string, state: ControlPlaneState): void {
  const unfinished = `${fileIn(dir)}.${process.pid}`;
  writeFileSync(unfinished, JSON.stringify(state, null, 2), { mode: 0o600 });
  renameSync(unfinished, fileIn(dir));
}

/** Removes what only a running control plane needs; the logs stay. */
export function removeRunFiles(dir: string, state: ControlPlaneState | undefined): void {
  for (const { name, kubeconfig } of state?.clusters ?? []) {
    rmSync(kubeconfig, { force: true });
    rmSync(join(dir, name), { recursive: true, force: true });
  }
  for (const name of ['etcd', 'tokens.csv', 'service-account.key']) {
    rmSync(join(dir, name), { recursive: true, force: true });
  }
  rmSync(fileIn(dir), { force: true });
}

/** Whether the control plane that the state tells of still runs. */
export function isRunning(state: ControlPlaneState): boolean {
  return isAlive(state.supervisor);
}
