import { expect, test } from '@jest/globals';
import { resourceOf } from '../../../platform/kube/resource-path.ts';

test.each([
  ['/api/v1/services', 'services'],
  ['/api/v1/namespaces/ns/services/web', 'services'],
  ['/api/v1/namespaces/ns', 'namespaces'],
  ['/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices/x', 'endpointslices'],
  [
    '/apis/workload.linkerd.io/v1beta1/namespaces/ns/externalworkloads/x/status',
    'externalworkloads/status',
  ],
  ['/version', 'other'],
  ['/apis/discovery.k8s.io/v1', 'other'],
])('%s is about %s', (path, resource) => {
  expect(resourceOf(path)).toBe(resource);
});
