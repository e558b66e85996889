import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startPrivateRedis, type PrivateRedis } from '../../platform/redis/private-server.ts';
import { say } from '../support/churn.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload, setReady } from '../support/objects.ts';
import type { TetherProcess } from '../support/processes.ts';
import { rigOf } from '../support/up-rig.ts';

/*
 * The disk under Redis' append-only file is full: Redis answers, and refuses every write. A small
 * file system of the test's own is that disk; where it may not be mounted this is not tested.
 */
const dir = mkdtempSync(join(tmpdir(), 'tether-disk-'));
const mounted = mount();

function mount(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', dir], { stdio: 'pipe' });
    return true;
  } catch (error) {
    say(
      `NOT TESTED, a full disk under Redis: no file system can be mounted here (${String(error)})`,
    );
    return false;
  }
}

const FILL = join(dir, 'fill');
const PIECE = Buffer.alloc(4096);

/** Until not one byte more fits. */
function fillDisk(): void {
  const file = openSync(FILL, 'a');
  try {
    for (;;) writeSync(file, PIECE);
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
  } finally {
    closeSync(file);
  }
}

let ns: string;
let server: PrivateRedis;
let fleet: Fleet;
const rig = rigOf(() => ns);
beforeAll(async () => {
  if (!mounted) return;
  ns = await freshNamespace('disk');
  server = await startPrivateRedis({ dir, appendOnly: true });
  fleet = openFleet(ns, { redisUrl: server.url });
  await Promise.all([fleet.start('watcher'), fleet.start('worker')]);
});
afterAll(async () => {
  if (mounted) {
    await fleet.killAll();
    await server.stop();
    execFileSync('umount', [dir]);
  }
  rmSync(dir, { recursive: true, force: true });
});

const SAID =
  /"level":"error".*"msg":"Redis takes no writes \(MISCONF .*No space left on device.*\): it cannot save what it takes: make room on its disk, and look at its log; changes wait meanwhile, and none is lost"/g;

async function readiness(member: TetherProcess): Promise<[number, string]> {
  const [, url] = await member.untilLog(/"url":"(http:[^"]+)"/);
  const answer = await fetch(`${url}/readyz`, { headers: { connection: 'close' } });
  return [answer.status, await answer.text()];
}

(mounted ? describe : describe.skip)('a full disk under the append-only file of Redis', () => {
  test('each process says so in one line and in /readyz; with room again all is delivered', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await rig.endpointsBecome('web', ['192.0.2.10 8080 ready']);
    await fleet.untilQuiet();
    const members = [...fleet.watchers, ...fleet.workers];

    fillDisk();
    await setReady(ns, 'vm', false);
    for (const member of members) {
      await eventually(() => expect([...member.stdout().matchAll(SAID)]).toHaveLength(1));
      const [status, text] = await readiness(member);
      expect(status).toBe(503);
      expect(text).toMatch(/"redis-writes".*"ok": false.*make room on its disk/s);
    }

    rmSync(FILL);
    await rig.endpointsBecome('web', ['192.0.2.10 8080 not-ready']);
    await fleet.untilQuiet();
    for (const member of members) {
      await member.untilLog(/"msg":"Redis takes writes again"/);
      await eventually(async () => expect((await readiness(member))[0]).toBe(200));
      expect([...member.stdout().matchAll(SAID)]).toHaveLength(1);
    }
  });
});
