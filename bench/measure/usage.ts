import { childrenCalled, parseStat, parseStatus, readProc } from './proc.ts';

/** What one process has used. */
interface Use {
  readonly cpuSeconds: number;
  readonly rssMiB: number;
  readonly peakMiB: number;
}

/** CPU seconds so far, by the name of the process. */
export type CpuMark = ReadonlyMap<string, number>;

/** CPU time and memory of processes, several of one name summed up; for one that dies, as last seen. */
export interface UsageMeter {
  track(name: string, pid: number): void;
  /** The same for a child that this process may yet start. */
  trackChild(name: string, parent: number, program: RegExp): void;
  /** Where all stand now. */
  mark(): CpuMark;
  /** CPU seconds since then; what was not there yet began at zero. */
  cpuSince(mark: CpuMark): ReadonlyMap<string, number>;
  /** Resident memory in MiB, the largest of each name. */
  memory(): ReadonlyMap<string, { readonly nowMiB: number; readonly peakMiB: number }>;
  close(): void;
}

const SAMPLE_MS = 250;

/** Starts sampling; a process is seen at least every 250 ms, and whenever something is asked. */
export function startUsageMeter(): UsageMeter {
  return new SamplingMeter();
}

class SamplingMeter implements UsageMeter {
  readonly #names = new Map<number, string>();
  readonly #last = new Map<number, Use>();
  readonly #timer: NodeJS.Timeout;
  #sought: { readonly name: string; readonly parent: number; readonly program: RegExp }[] = [];

  constructor() {
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  track(name: string, pid: number): void {
    this.#names.set(pid, name);
  }

  trackChild(name: string, parent: number, program: RegExp): void {
    this.#sought.push({ name, parent, program });
  }

  mark(): CpuMark {
    this.#sample();
    const sums = new Map<string, number>();
    for (const [pid, name] of this.#names) {
      sums.set(name, (sums.get(name) ?? 0) + (this.#last.get(pid)?.cpuSeconds ?? 0));
    }
    return sums;
  }

  cpuSince(mark: CpuMark): ReadonlyMap<string, number> {
    return new Map([...this.mark()].map(([name, now]) => [name, now - (mark.get(name) ?? 0)]));
  }

  memory(): ReadonlyMap<string, { readonly nowMiB: number; readonly peakMiB: number }> {
    this.#sample();
    const found = new Map<string, { readonly nowMiB: number; readonly peakMiB: number }>();
    for (const [pid, name] of this.#names) {
      const { rssMiB = 0, peakMiB = 0 } = this.#last.get(pid) ?? {};
      const known = found.get(name);
      found.set(name, {
        nowMiB: Math.max(known?.nowMiB ?? 0, rssMiB),
        peakMiB: Math.max(known?.peakMiB ?? 0, peakMiB),
      });
    }
    return found;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    this.#sought = this.#sought.filter(({ name, parent, program }) => {
      const [child] = childrenCalled(parent, program);
      if (child !== undefined) this.#names.set(child, name);
      return child === undefined;
    });
    for (const pid of this.#names.keys()) {
      const use = useOf(pid);
      if (use !== undefined) this.#last.set(pid, use);
    }
  }
}

function useOf(pid: number): Use | undefined {
  const stat = readProc(pid, 'stat');
  const status = readProc(pid, 'status');
  if (stat === undefined || status === undefined) return undefined;
  const { nowMiB, peakMiB } = parseStatus(status);
  return { cpuSeconds: parseStat(stat).cpuSeconds, rssMiB: nowMiB, peakMiB };
}
