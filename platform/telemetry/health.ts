/** What a check found; `detail` is one sentence for whoever looks at /healthz or /readyz. */
export interface CheckResult {
  readonly ok: boolean;
  readonly detail: string;
}

/** One question about a process. It answers at once, from what is known: it never asks a server. */
export interface Check {
  readonly name: string;
  check(): CheckResult;
}

/**
 * Fails once the last sign of life (an event or a bookmark of a watch, a job that ended) is older than
 * `limitMs`: a process that merely says of itself that it runs may be stuck all the same.
 */
export function freshnessCheck(options: {
  readonly name: string;
  /** Age of the last sign of life, in ms; null before the first. */
  readonly ageMs: () => number | null;
  readonly limitMs: number;
}): Check {
  const { name, ageMs, limitMs } = options;
  return {
    name,
    check: () => {
      const age = ageMs();
      if (age === null) return { ok: true, detail: 'nothing yet' };
      const detail = `last sign of life ${seconds(age)} ago (at most ${seconds(limitMs)})`;
      return { ok: age <= limitMs, detail };
    },
  };
}

/** A plain yes or no, with a sentence for each. */
export function flagCheck(name: string, read: () => boolean, yes: string, no: string): Check {
  return {
    name,
    check: () => {
      const ok = read();
      return { ok, detail: ok ? yes : no };
    },
  };
}

/** The results of all checks; one that throws counts as failed and says so. */
export function runChecks(checks: readonly Check[]): {
  readonly ok: boolean;
  readonly checks: Readonly<Record<string, CheckResult>>;
} {
  const results = checks.map(({ name, check }) => [name, safely(check)] as const);
  return { ok: results.every(([, { ok }]) => ok), checks: Object.fromEntries(results) };
}

function safely(check: () => CheckResult): CheckResult {
  try {
    return check();
  } catch (error) {
    return { ok: false, detail: `the check itself failed: ${String(error)}` };
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
