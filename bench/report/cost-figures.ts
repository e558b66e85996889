import type { Costs } from '../measure/costs.ts';
import { total, type Counters } from '../measure/prometheus.ts';
import { format } from './markdown.ts';
import type { Figures, Row } from './section.ts';

/** The rows of what something cost; `unit` is what it is divided by: `Service`, `flip`. */
export function costRows(unit: string): Row[] {
  return [
    { id: 'cpuController', label: 'CPU seconds, controller', digits: 2 },
    { id: 'cpuRedis', label: 'CPU seconds, its Redis', digits: 2 },
    { id: 'cpuBoth', label: 'CPU seconds, both', digits: 2 },
    { id: 'cpuApi', label: 'CPU seconds, API server', digits: 2 },
    { id: 'cpuEtcd', label: 'CPU seconds, etcd', digits: 2 },
    { id: 'cpuBench', label: 'CPU seconds, load and observer', digits: 2 },
    { id: 'peakController', label: 'peak memory, controller, MiB', digits: 0 },
    { id: 'peakRedis', label: 'peak memory, its Redis, MiB', digits: 0 },
    { id: 'peakBoth', label: 'peak memory, both, MiB', digits: 0 },
    { id: 'apiWrites', label: `API writes a ${unit}`, digits: 2 },
    { id: 'apiReads', label: `API reads a ${unit}`, digits: 2 },
    { id: 'reconciles', label: `reconciles a ${unit}`, digits: 2 },
    { id: 'apiPerReconcile', label: 'API requests a reconcile', digits: 2 },
    { id: 'redisScripts', label: 'Redis scripts a reconcile', digits: 1 },
    { id: 'redisCalls', label: 'Redis commands a reconcile, those in scripts too', digits: 1 },
    { id: 'redisReads', label: 'Redis reads of its sockets a reconcile', digits: 1 },
  ];
}

const WRITES = /^(POST|PUT|PATCH|DELETE|APPLY|DELETECOLLECTION) /;
const READS = /^(GET|LIST) /;

/** What `costRows` shows of one run with so many units. */
export function costFigures(costs: Costs, units: number): Figures {
  const { cpu, memory, apiRequests, redis, reconciles } = costs;
  const perRun = (count: number | undefined): number | undefined =>
    count === undefined || reconciles === undefined || reconciles === 0
      ? undefined
      : count / reconciles;
  return {
    cpuController: cpu.get('controller'),
    cpuRedis: cpu.get('Redis'),
    cpuBoth: sum(cpu.get('controller'), cpu.get('Redis')),
    cpuApi: cpu.get('API server'),
    cpuEtcd: cpu.get('etcd'),
    cpuBench: cpu.get('load and observer'),
    peakController: memory.get('controller')?.peakMiB,
    peakRedis: memory.get('Redis')?.peakMiB,
    peakBoth: sum(memory.get('controller')?.peakMiB, memory.get('Redis')?.peakMiB),
    apiWrites: total(apiRequests, WRITES) / units,
    apiReads: total(apiRequests, READS) / units,
    reconciles: reconciles === undefined ? undefined : reconciles / units,
    apiPerReconcile: perRun(total(apiRequests)),
    redisScripts: perRun(redis?.scripts),
    redisCalls: perRun(redis && total(redis.calls)),
    redisReads: perRun(redis?.reads),
  };
}

/** What is not there counts nothing. */
function sum(...values: readonly (number | undefined)[]): number {
  return values.reduce<number>((so, value) => so + (value ?? 0), 0);
}

/** Every kind of request and command by name, of one run. */
export function costNotes(title: string, costs: Costs): string[] {
  const api = `${title}, API requests of the last run: ${listed(costs.apiRequests)}.`;
  const { redis } = costs;
  if (redis === undefined) return [api];
  return [api, `${title}, Redis commands of the last run: ${listed(redis.calls)}.`];
}

const MOST = 16;

/** `PUT endpointslices 500, LIST services 3`, the most frequent first. */
export function listed(counters: Counters): string {
  const sorted = [...counters].sort(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, MOST).map(([name, count]) => `${name} ${format(count, 0)}`);
  const rest = sorted.length - shown.length;
  return shown.join(', ') + (rest > 0 ? `, ${rest} more kinds` : '');
}
