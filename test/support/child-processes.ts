import { readdirSync, readFileSync } from 'node:fs';

/** A process of this machine. */
export interface SeenProcess {
  readonly pid: number;
  /** Its command line, shortened. */
  readonly command: string;
}

/** The living children of a process, where the system tells (Linux; elsewhere none). */
export function childrenOf(parent: number): SeenProcess[] {
  return allProcesses().filter(({ pid }) => {
    const stat = read(`/proc/${pid}/stat`);
    // The second field is the program's name in brackets and may hold spaces: count from its end.
    const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(ppid) === parent && state !== 'Z';
  });
}

/**
 * The processes that were started with this `NAME=value` in their environment. Children inherit it,
 * however far away, so it finds grandchildren too (Linux; elsewhere none).
 */
export function processesWith(variable: string): SeenProcess[] {
  return allProcesses().filter(({ pid }) => read(`/proc/${pid}/environ`).includes(variable));
}

function allProcesses(): SeenProcess[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), command: commandOf(name) }));
}

function commandOf(pid: string): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim().slice(0, 160);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process ended meanwhile.
    return '';
  }
}
