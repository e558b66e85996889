import { expect, test } from '@jest/globals';
import type { ApiObject } from '../../core/api-objects.ts';
import { silentLogger } from '../../core/logger.ts';
import { createKubeClient } from '../../platform/kube/client.ts';
import { createEventSink, REPEAT_EVERY_MS } from '../../platform/kube/events.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { apiOk } from '../support/api.ts';
import { kubectl } from '../support/kubectl.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { fromRun } from '../support/run.ts';

test('an Event on a Service, repeated by another process, as kubectl shows it', async () => {
  const namespace = await freshNamespace('events');
  const body = { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } };
  const path = `/api/v1/namespaces/${namespace}/services`;
  const uid = ((await apiOk('POST', path, body)) as ApiObject).metadata?.uid ?? '';
  const event = {
    regarding: { apiVersion: 'v1', kind: 'Service', namespace, name: 'web', uid },
    type: 'Warning',
    reason: 'FailedToUpdateEndpointSlices',
    message: 'update endpointslices: spec.endpoints[0] is refused',
  } as const;

  const access = await loadKubeConfig({ path: fromRun('kubeconfig'), env: {} });
  const client = createKubeClient(access);
  try {
    for (const later of [0, 0, REPEAT_EVERY_MS]) {
      const now = () => Date.now() + later;
      const options = { client, component: 'tether-test', log: silentLogger, now };
      const sink = createEventSink(options);
      sink.emit(event);
      await sink.flush();
    }
  } finally {
    await client.close();
  }

  const list = (await apiOk('GET', `/api/v1/namespaces/${namespace}/events`)) as {
    items: readonly { count: number; involvedObject: object }[];
  };
  expect(list.items).toMatchObject([{ count: 2, involvedObject: { kind: 'Service', uid } }]);
  const shown = await kubectl(['-n', namespace, 'describe', 'service', 'web']);
  expect(shown).toMatch(/Warning +FailedToUpdateEndpointSlices .*\(x2 over .*tether-test/);
});
