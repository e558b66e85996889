import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { spawnTied } from '../../platform/process/tied-child.ts';
import { identify, isAlive, type ProcessIdentity } from '../controlplane/identity.ts';
import { childrenOf } from '../support/child-processes.ts';
import { eventually } from '../support/eventually.ts';

const PARENT = join(import.meta.dirname, '../support/fixtures/tied-parent.ts');

/** Starts a parent with one tied child, and gives both. */
async function startFamily(
  ...childCommand: string[]
): Promise<{ parent: ChildProcess; child: ProcessIdentity }> {
  const parent = spawn(process.execPath, [PARENT, ...childCommand], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (parent.stdout === null) throw new Error('the parent has no standard output');
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const child = identify(Number(line.toString()));
  if (child === undefined) throw new Error(`the parent started no child: ${line.toString()}`);
  return { parent, child };
}

async function untilGone(child: ProcessIdentity): Promise<void> {
  await eventually(() => expect(isAlive(child)).toBe(false), { timeoutMs: 5000 });
}

test.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
  'the child ends when its parent is ended by %s',
  async (signal) => {
    const { parent, child } = await startFamily('sleep', '600');
    expect(isAlive(child)).toBe(true);
    parent.kill(signal);
    await untilGone(child);
  },
);

test('a child that ignores SIGTERM is killed after its grace time', async () => {
  const { parent, child } = await startFamily(
    'sh',
    '-c',
    'trap "" TERM; while :; do sleep 1; done',
  );
  parent.kill('SIGKILL');
  await untilGone(child);
});

test('a child that hangs (SIGSTOP) ends with its parent too', async () => {
  const { parent, child } = await startFamily('sleep', '600');
  // Not before the command runs: what is stopped before that has no watcher yet.
  const command = (): string | undefined => childrenOf(parent.pid ?? 0)[0]?.command;
  await eventually(() => expect(command()).toBe('sleep 600'));
  process.kill(child.pid, 'SIGSTOP');
  parent.kill('SIGKILL');
  await untilGone(child);
});

test('exit code, output and input are those of the command', async () => {
  const child = spawnTied('sh', ['-c', 'cat; exit 7'], { input: 'hello', stdout: 'pipe' });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  expect(await child.exited).toEqual({ code: 7, signal: null });
  await eventually(() => expect(output).toBe('hello'));
});

test('arguments reach the command as they are', async () => {
  const child = spawnTied('printf', ['%s|', 'a b', '$HOME', "it's", ''], { stdout: 'pipe' });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await child.exited;
  await eventually(() => expect(output).toBe("a b|$HOME|it's||"));
});

test('a command that is not found is exit code 127', async () => {
  expect(await spawnTied('no-such-command-here', []).exited).toEqual({ code: 127, signal: null });
});

test('stop asks by SIGTERM, and kills a child that does not end', async () => {
  expect(await spawnTied('sleep', ['600']).stop()).toEqual({ code: null, signal: 'SIGTERM' });
  const deaf = spawnTied('sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 1; done'], {
    stdout: 'pipe',
  });
  if (deaf.stdout !== null) await once(deaf.stdout, 'data');
  expect(await deaf.stop(50)).toEqual({ code: null, signal: 'SIGKILL' });
  expect(deaf.signal('SIGTERM')).toBe(false);
  expect(await deaf.stop()).toEqual({ code: null, signal: 'SIGKILL' });
});
