import { randomUUID } from 'node:crypto';

/** The address of what a test run shares; each is an environment variable. */
export const TEST_ENV = {
  /** Marks every process of one run. */
  run: 'TETHER_TEST_RUN',
  redisUrl: 'TETHER_TEST_REDIS_URL',
  kubeconfig: 'TETHER_TEST_KUBECONFIG',
  kubectl: 'TETHER_TEST_KUBECTL',
} as const;

/** The variable that holds what one of several test files that run at once has of its own. */
export function laneVariable(name: string, lane: number | string): string {
  return `${name}_${lane}`;
}

/**
 * The manager label of what a test file writes. Two files run at once on one API server, each with
 * processes that look at all namespaces: under one label they would write the same slices.
 */
export const TEST_MANAGER = `tether-test-${process.env['JEST_WORKER_ID'] ?? '0'}`;

/** What the run started, to be ended after the last test, the latest first. */
interface Owned {
  readonly stops: (() => Promise<unknown>)[];
}

// Jest may load set-up and teardown as separate module instances in one process.
const OWNED = Symbol.for('tether.test.owned');
const holder = globalThis as typeof globalThis & { [OWNED]?: Owned };

/** Marks this process and all its children as part of one run. */
export function beginRun(): void {
  process.env[TEST_ENV.run] ??= randomUUID();
}

/** Leaves something to be ended after the last test. */
export function owns(stop: () => Promise<unknown>): void {
  holder[OWNED] ??= { stops: [] };
  holder[OWNED].stops.push(stop);
}

/** Ends all that the run started. */
export async function endOwned(): Promise<void> {
  const stops = holder[OWNED]?.stops ?? [];
  for (const stop of stops.splice(0).reverse()) await stop();
}

/**
 * Reads what the set-up of the run left in the environment.
 *
 * @throws {Error} outside of a run that has it.
 */
export function fromRun(name: keyof typeof TEST_ENV): string {
  const value = process.env[TEST_ENV[name]];
  if (value === undefined) {
    throw new Error(`${TEST_ENV[name]} is not set: this test file is not in a project that has it`);
  }
  return value;
}
