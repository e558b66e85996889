import { setTimeout as delay } from 'node:timers/promises';
import { TestEnvironment as NodeEnvironment } from 'jest-environment-node';
import { childrenOf } from './child-processes.ts';
import { laneVariable, TEST_ENV } from './run.ts';

const GRACE_MS = 3000;
const POLL_MS = 20;

/** Work that is under way and ends by itself; it owns nothing. */
const TRANSIENT = new Set(['FSReqCallback', 'FSReqPromise', 'Immediate', 'CloseReq', 'WriteWrap']);

interface CircusEvent {
  readonly name: string;
}
interface CircusState {
  readonly unhandledErrors: unknown[];
}

/**
 * A test environment that gives each of several files that run at once its own surroundings, and fails a test file which leaves something running: a socket, a server, a
 * timer or a child process that was not there before its first test. What was left keeps working in
 * the background and disturbs whatever is tested next.
 */
export default class LeakCheckEnvironment extends NodeEnvironment {
  #before = new Map<string, number>();

  /** Files that run at once have an API server and a Redis each. */
  override async setup(): Promise<void> {
    await super.setup();
    const { env } = this.global.process;
    for (const name of [TEST_ENV.redisUrl, TEST_ENV.kubeconfig]) {
      const own = env[laneVariable(name, env['JEST_WORKER_ID'] ?? '1')];
      if (own !== undefined) env[name] = own;
    }
  }

  /** Called by jest-circus; hooks of the file itself (afterAll) are over at `run_finish`. */
  async handleTestEvent(event: CircusEvent, state: CircusState): Promise<void> {
    if (event.name === 'run_start') {
      openStandardStreams();
      this.#before = countRunning();
    }
    if (event.name !== 'run_finish') return;
    const left = await this.#leftRunning();
    if (left.length === 0) return;
    const error = new Error(
      `this test file left something running: ${left.join(', ')}. Close it in the test`,
    );
    // Where this check stands in the code tells a reader nothing.
    error.stack = error.message;
    state.unhandledErrors.push(error);
  }

  /** Sockets take a moment to close: looks until nothing is left or the grace time is over. */
  async #leftRunning(): Promise<string[]> {
    const deadline = performance.now() + GRACE_MS;
    for (;;) {
      const left = [...countRunning()]
        .map(([name, count]) => ({ name, more: count - (this.#before.get(name) ?? 0) }))
        .filter(({ more }) => more > 0)
        .map(({ name, more }) => `${more} × ${name}`);
      if (left.length === 0 || performance.now() > deadline) return left;
      await delay(POLL_MS);
    }
  }
}

/**
 * Node opens them at first use, by anybody: an ES module that imports `node:process` is enough under Jest. In
 * one of several workers they are pipes, which would look like something that the test left.
 */
function openStandardStreams(): readonly unknown[] {
  return [process.stdin, process.stdout, process.stderr];
}

function countRunning(): Map<string, number> {
  const names = process.getActiveResourcesInfo().filter((name) => !TRANSIENT.has(name));
  // By pid, as a child that is not waited for (unref) is no active resource.
  for (const { pid, command } of childrenOf(process.pid)) names.push(`child ${pid} (${command})`);
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
