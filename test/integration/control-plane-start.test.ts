import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { controlPlaneBinaries, type Binaries } from '../controlplane/binaries.ts';
import { startControlPlane } from '../controlplane/cluster.ts';

let dir: string;
let binaries: Binaries;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-control-plane-'));
  binaries = await controlPlaneBinaries();
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** An etcd whose first start goes as `script` says; later ones as they should. */
function etcdThat(name: string, script: string): Binaries {
  const path = join(dir, name);
  const mark = join(dir, `${name}.started`);
  writeFileSync(
    path,
    `#!/bin/sh\nif [ ! -e ${mark} ]; then touch ${mark}; ${script}; fi\nexec ${binaries.etcd} "$@"\n`,
  );
  chmodSync(path, 0o755);
  return { ...binaries, etcd: path };
}

it('takes other ports when somebody was faster', async () => {
  const taken = etcdThat('taken', 'echo "listen tcp: bind: address already in use"; exit 1');
  const plane = await startControlPlane({ binaries: taken, dir: join(dir, 'a') });
  await plane.stop();
});

it('says at once that etcd did not start, and what etcd said', async () => {
  const broken = etcdThat('broken', 'echo "the disk is gone"; exit 1');
  const starting = startControlPlane({ binaries: broken, dir: join(dir, 'b') });
  await expect(starting).rejects.toThrow(/^etcd ended by itself.*the disk is gone/s);
});
