import { setTimeout as delay } from 'node:timers/promises';
import type { Check, CheckResult } from '../../platform/telemetry/health.ts';
import type { Role } from './serve.ts';

export interface LateRole {
  /** Of its check in /healthz and /readyz. */
  readonly name: string;
  /** What must not be held up by it. */
  readonly after: readonly Role[];
  readonly start: () => Promise<Role>;
}

/** The others may never come to be ready, as without an API server; longer than this none waits, ms. */
const LONGEST_WAIT_MS = 2_000;

const NOT_YET: CheckResult = { ok: false, detail: 'not started yet' };

/** A role that is loaded and started once others are at work, so that their start costs no more for it. */
export function startLate({ name, after, start }: LateRole): Role {
  const stopping = Promise.withResolvers<void>();
  let stopped = false;
  let role: Role | undefined;
  const begin = async (): Promise<void> => {
    const others = Promise.all(after.map(({ ready }) => ready));
    const waited = delay(LONGEST_WAIT_MS, undefined, { ref: false });
    await Promise.race([others, waited, stopping.promise]);
    if (!stopped) role = await start();
  };
  const starting = begin();
  const failed = starting.then(() => new Promise<never>(() => undefined));
  // Whoever serves the role looks at it; until then its failure is nobody's.
  failed.catch(() => undefined);
  const check = (which: 'liveness' | 'readiness', before: CheckResult): Check => ({
    name,
    check: () => {
      const results = role?.[which].map((one) => one.check()) ?? [before];
      return results.find(({ ok }) => !ok) ?? results[0] ?? before;
    },
  });
  return {
    ready: starting.then(() => role?.ready),
    failed,
    liveness: [check('liveness', { ...NOT_YET, ok: true })],
    readiness: [check('readiness', NOT_YET)],
    stop: async () => {
      stopped = true;
      stopping.resolve();
      await starting.catch(() => undefined);
      await role?.stop();
    },
  };
}
