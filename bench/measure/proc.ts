import { readdirSync, readFileSync } from 'node:fs';

/** What Linux tells of a process. */
export interface ProcessUse {
  /** Of the process and its children that have ended, in user and kernel mode. */
  readonly cpuSeconds: number;
  readonly parent: number;
}

/** `getconf CLK_TCK` on every Linux there is. */
const TICKS_PER_SECOND = 100;
const KIB_PER_MIB = 1024;
/** Positions after the program's name, which may hold spaces: state, ppid, …, utime, stime, cutime, cstime. */
const PARENT = 1;
const CPU_TIMES = [11, 12, 13, 14];

/** Reads the text of `/proc/PID/stat`. */
export function parseStat(text: string): ProcessUse {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = CPU_TIMES.reduce((sum, at) => sum + Number(fields[at] ?? 0), 0);
  return { cpuSeconds: ticks / TICKS_PER_SECOND, parent: Number(fields[PARENT]) };
}

/** The resident memory now and at its peak, in MiB, from the text of `/proc/PID/status`. */
export function parseStatus(text: string): { readonly nowMiB: number; readonly peakMiB: number } {
  const kib = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0);
  return { nowMiB: kib('VmRSS') / KIB_PER_MIB, peakMiB: kib('VmHWM') / KIB_PER_MIB };
}

/** A file of `/proc/PID`; undefined once the process is gone. */
export function readProc(pid: number, file: 'stat' | 'status'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}

/** The living children of a process whose program is called so. */
export function childrenCalled(parent: number, program: RegExp): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const stat = readProc(pid, 'stat');
      if (stat === undefined || parseStat(stat).parent !== parent) return false;
      return program.test(stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')));
    });
}
