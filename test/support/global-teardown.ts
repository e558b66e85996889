import { identify, signalProcess } from '../controlplane/identity.ts';
import { processesWith, type SeenProcess } from './child-processes.ts';
import { eventually } from './eventually.ts';
import { endOwned, TEST_ENV } from './run.ts';

/**
 * Jest's teardown: ends what the run shares, then fails when a process of this run still lives.
 * Such a process is ended too, so that it does not disturb the next run.
 */
export default async function tearDown(): Promise<void> {
  await endOwned();
  const run = process.env[TEST_ENV.run];
  if (run === undefined) return;
  const left = (): SeenProcess[] =>
    processesWith(`${TEST_ENV.run}=${run}`).filter(({ pid }) => pid !== process.pid);
  try {
    await eventually(() => failWhenAny(left()), { timeoutMs: 5000 });
  } catch (error) {
    for (const { pid } of left()) {
      const identity = identify(pid);
      if (identity !== undefined) signalProcess(identity, 'SIGKILL');
    }
    throw error;
  }
}

function failWhenAny(left: readonly SeenProcess[]): void {
  if (left.length === 0) return;
  const lines = left.map(({ pid, command }) => `  ${pid} ${command}`);
  throw new Error(`the tests left processes behind:\n${lines.join('\n')}`);
}
