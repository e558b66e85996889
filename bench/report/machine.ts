import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, release, totalmem, type as osType } from 'node:os';
import { wrap } from './markdown.ts';

const BYTES_PER_GIB = 1024 ** 3;

/** What was measured on, as one paragraph. */
export function describeMachine(kubernetes: string, loadBefore: number): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown CPU';
  const memory = (totalmem() / BYTES_PER_GIB).toFixed(0);
  const today = new Date().toISOString().slice(0, 10);
  return wrap(
    `Measured on ${today}: ${model}, ${availableParallelism()} cores, ${memory} GiB, ` +
      `${osType()} ${release()}; Node ${process.versions.node}, Kubernetes ${kubernetes}, ` +
      `${redisVersion()}. API server, etcd, controller, Redis, load and observer share the machine. ` +
      `Its load before the first run was ${loadBefore.toFixed(1)} (1 minute).`,
  );
}

/** The machine's load of the last minute. */
export function currentLoad(): number {
  return loadavg()[0] ?? 0;
}

function redisVersion(): string {
  for (const program of ['redis-server', 'valkey-server']) {
    try {
      const said = execFileSync(program, ['--version'], { encoding: 'utf8' });
      const version = /v=(\S+)/.exec(said)?.[1];
      if (version !== undefined) return `${program} ${version}`;
    } catch {
      // Not on the PATH: the other one is.
    }
  }
  return 'a Redis of unknown version';
}
