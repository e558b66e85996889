import { hostname } from 'node:os';
import { ApiGate, type Outage } from '../../functions/api-gate.ts';
import { askHealth } from '../../platform/kube/server-health.ts';
import { BEAT_EVERY_MS, type Beats } from '../../platform/redis/beats.ts';
import { waitingBeats, type WaitingWorker } from '../../platform/redis/waiting-workers.ts';
import type { Check } from '../../platform/telemetry/health.ts';
import type { Runtime } from './runtime.ts';

/** The gate of this process' worker. */
export interface OpenedGate {
  readonly gate: ApiGate;
  /** For /readyz: whether keys are taken. */
  readonly readiness: Check;
  stop(): Promise<void>;
}

/** What the gate shuts and opens; made later than the gate. */
export interface Stoppable {
  pause(): void;
  resume(): void;
}

/**
 * Opens the gate between the queue and the API server. While it is shut `queue` is paused, and Redis
 * says so for `tether status`.
 */
export function openApiGate(runtime: Runtime, queue: () => Stoppable): OpenedGate {
  const { access, log, metrics } = runtime;
  const monotonicMs = (): number => performance.now();
  const teller = createTeller(runtime, monotonicMs);
  let shut = false;
  const onChange = (outage: Outage | null): void => {
    teller.tell(outage);
    if (shut === (outage !== null)) return;
    shut = outage !== null;
    if (shut) queue().pause();
    else queue().resume();
  };
  const ask = (signal: AbortSignal) => askHealth(access, signal);
  const gate = new ApiGate({ ask, onChange, log, monotonicMs, random: Math.random });
  const awayMs = (): number => (gate.outage === null ? 0 : monotonicMs() - gate.outage.since);
  metrics.api.outageFrom(awayMs);
  return {
    gate,
    readiness: { name: 'api-server', check: () => checked(gate.outage, awayMs()) },
    stop: async () => {
      await gate.stop();
      await teller.stop();
    },
  };
}

function checked(outage: Outage | null, awayMs: number): ReturnType<Check['check']> {
  if (outage === null) return { ok: true, detail: 'answers' };
  const seconds = (awayMs / 1000).toFixed(1);
  const detail = `no key is taken for ${seconds} s, as the API server does not answer: ${outage.reason}`;
  return { ok: false, detail };
}

interface Teller {
  tell(outage: Outage | null): void;
  stop(): Promise<void>;
}

/** Redis may be away as well: what cannot be told is told by the log and by /readyz. */
function createTeller({ redis, config, id }: Runtime, monotonicMs: () => number): Teller {
  const about = { id, host: hostname(), pid: process.pid };
  let words: { readonly beats: Beats<WaitingWorker>; readonly timer: NodeJS.Timeout } | null = null;
  const end = async (): Promise<void> => {
    const last = words;
    words = null;
    if (last === null) return;
    clearInterval(last.timer);
    await last.beats.forget(id).catch(() => undefined);
  };
  return {
    tell: (outage) => {
      void end();
      if (outage === null) return;
      const beats = waitingBeats(redis, config.redisPrefix);
      const beat = (): void => {
        const awayMs = Math.round(monotonicMs() - outage.since);
        beats.beat({ ...about, reason: outage.reason, awayMs }).catch(() => undefined);
      };
      words = { beats, timer: setInterval(beat, BEAT_EVERY_MS) };
      beat();
    },
    stop: end,
  };
}
