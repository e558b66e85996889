import { InvalidInputError, ShutdownError, describeError } from '../../core/errors.ts';
import { createHttpFunction } from '../../functions/http.ts';
import { createRunner, type Runner } from '../../functions/runner.ts';
import type { Config } from '../../platform/config.ts';
import { createGate, type Gate } from '../../platform/http/bearer-gate.ts';
import { exchange, type HttpHandler } from '../../platform/http/exchange.ts';
import { startHttpFront } from '../../platform/http/server.ts';
import {
  flagCheck,
  freshnessCheck,
  runChecks,
  type Check,
} from '../../platform/telemetry/health.ts';
import { createHandles } from './handles.ts';
import { isLoopback } from './loopback.ts';
import type { Role, Runtime } from './runtime.ts';

const TICK_MS = 1_000;
/** An event loop that was not back for so long hangs, ms. */
const SILENCE_MS = 30_000;
/** From telling runs to end to cutting their requests, ms. */
const LAST_WORDS_MS = 1_000;

/** The functions, and all that they stand on. */
export interface RunningFunction {
  readonly runner: Runner;
  readonly gate: Gate;
  readonly http: HttpHandler;
  readonly liveness: readonly Check[];
  readonly readiness: readonly Check[];
  /** Ends the runs before their next write. */
  cut(): void;
  /** Cuts the runs, waits for them, and lets go of all. */
  stop(): Promise<void>;
}

/**
 * A function takes keys from whoever reaches it: on any address but this machine's own it wants a token.
 *
 * @throws InvalidInputError
 */
export function checkFunctionConfig(config: Config): void {
  const { functionAddr, triggerToken, triggerTokenFile } = config;
  const guarded = triggerToken !== undefined || triggerTokenFile !== undefined;
  if (guarded || isLoopback(functionAddr.host)) return;
  throw new InvalidInputError(
    'trigger-token-file',
    `--trigger-token-file: is needed to answer on ${functionAddr.host}:${functionAddr.port}; ` +
      'without a token only this machine may ask (--function-addr 127.0.0.1:PORT)',
  );
}

/** Makes the functions ready to be called, by HTTP or otherwise. */
export async function openFunction(runtime: Runtime): Promise<RunningFunction> {
  const { config, redis, log, metrics } = runtime;
  const { triggerToken: token, triggerTokenFile: tokenFile } = config;
  const gate = createGate({ flag: 'trigger-token', token, tokenFile }, log);
  const { handles, readiness, close } = await createHandles(runtime);
  const connected = (): boolean => redis.status === 'ready';
  const stopping = new AbortController();
  const runner = createRunner({
    handles,
    deadlineMs: config.functionDeadlineMs,
    mostRuns: config.concurrency,
    stopping: stopping.signal,
    clock: { now: Date.now, monotonicMs: () => performance.now() },
    random: Math.random,
  });
  const heart = startBeating(gate.tick);
  const liveness = [heart.check];
  const health = () => runChecks(liveness);
  const { answered } = metrics.trigger;
  const cut = (): void => stopping.abort(new ShutdownError());
  return {
    runner,
    gate,
    http: createHttpFunction({ runner, gate, health, answered }),
    liveness,
    readiness: [flagCheck('redis', connected, 'connected', 'Redis does not answer'), readiness],
    cut,
    stop: async () => {
      heart.stop();
      cut();
      await runner.idle();
      await close();
      await runtime.events.flush();
    },
  };
}

/** Does something each second, and knows when that was last done. */
function startBeating(beat: () => void): { readonly check: Check; stop(): void } {
  let beatAt = performance.now();
  const timer = setInterval(() => {
    beatAt = performance.now();
    beat();
  }, TICK_MS);
  const ageMs = (): number => performance.now() - beatAt;
  return {
    check: freshnessCheck({ name: 'function', ageMs, limitMs: SILENCE_MS }),
    stop: () => clearInterval(timer),
  };
}

/** Reconciles one key a request. Any number may run, beside workers or instead of them. */
export async function startFunctionRole(runtime: Runtime): Promise<Role> {
  const { config, log } = runtime;
  const { http, liveness, readiness, cut, stop } = await openFunction(runtime);
  const { host, port } = config.functionAddr;
  const front = await startHttpFront(
    (request, response) => {
      exchange(request, response, http).catch((error: unknown) => {
        log.error({ error: describeError(error) }, 'a request for a reconcile failed');
      });
    },
    { host, port, flag: 'function-addr' },
  ).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  log.info({ functionUrl: front.url, port: front.port }, 'reconciling on request');
  return {
    ready: Promise.resolve(),
    liveness,
    readiness,
    stop: async () => {
      const timer = setTimeout(cut, config.drainMs);
      await front.close(config.drainMs + LAST_WORDS_MS);
      clearTimeout(timer);
      await stop();
    },
  };
}
