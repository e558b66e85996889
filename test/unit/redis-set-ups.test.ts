import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { identify, isAlive } from '../controlplane/identity.ts';
import { childrenOf } from '../support/child-processes.ts';
import { eventually } from '../support/eventually.ts';

const FIXTURE = join(import.meta.dirname, '../support/fixtures/redis-servers-parent.ts');

test('the servers of a set-up end when the run that made them is killed, one that hangs too', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tether-set-up-'));
  const parent = spawn(process.execPath, [FIXTURE, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(parent.stdout, 'data');
    const servers = childrenOf(parent.pid ?? 0)
      .filter(({ command }) => command.includes('redis-server'))
      .map(({ pid }) => identify(pid));
    if (process.platform === 'linux') expect(servers).toHaveLength(3);
    parent.kill('SIGKILL');
    await eventually(
      () => {
        const living = servers.filter((one) => one !== undefined && isAlive(one));
        expect(living).toEqual([]);
      },
      { timeoutMs: 20_000 },
    );
  } finally {
    parent.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  }
});
