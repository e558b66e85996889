import { afterEach, beforeEach, expect } from '@jest/globals';
import { silentLogger } from '../../core/logger.ts';
import { createKubeClient } from '../../platform/kube/client.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { staticCredentials } from '../../platform/kube/credentials.ts';
import { startReflector } from '../../watcher/reflector.ts';
import type { Reflector, ReflectorOptions } from '../../watcher/reflector.ts';
import { eventually } from './eventually.ts';
import { MisbehavingApi } from './misbehaving-api.ts';
import type { FakeObject } from './misbehaving-api.ts';
import { RecordingSink } from './recording-sink.ts';

/** A reflector in front of a misbehaving API server, new for each test and ended after it. */
export interface ReflectorRig {
  api: MisbehavingApi;
  client: KubeClient;
  sink: RecordingSink<FakeObject>;
  reflector: Reflector;
  /** Starts the reflector, with a backoff of 10 to 100 ms unless told otherwise. */
  start(options?: Partial<ReflectorOptions<FakeObject>>): void;
  /** Waits until one watch is open. */
  watching(): Promise<void>;
  /** Waits until the consumer knows exactly these objects. */
  sees(...names: string[]): Promise<void>;
}

/** To be called once at the top of a test file. */
export function reflectorRig(): ReflectorRig {
  const rig = {
    start(options = {}) {
      rig.reflector = startReflector<FakeObject>({
        client: rig.client,
        path: '/apis/test/v1/things',
        what: 'things',
        sink: rig.sink,
        log: silentLogger,
        backoff: { baseMs: 10, capMs: 100 },
        ...options,
      });
    },
    watching: () => eventually(() => expect(rig.api.openWatches).toBe(1)),
    sees: (...names) => eventually(() => expect(rig.sink.names).toEqual(names)),
  } as ReflectorRig;
  beforeEach(async () => {
    rig.api = await MisbehavingApi.start();
    const credentials = staticCredentials({ authorization: 'Bearer test-token' });
    rig.client = createKubeClient({ server: rig.api.url, insecure: false, credentials });
    rig.sink = new RecordingSink<FakeObject>();
  });
  afterEach(async () => {
    await rig.reflector.stop();
    await rig.client.close();
    await rig.api.close();
  });
  return rig;
}
