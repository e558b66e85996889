import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createKubeClient } from '../../../platform/kube/client.ts';
import type { KubeClient } from '../../../platform/kube/client.ts';
import type { AddressRule } from '../../../platform/kube/connect.ts';
import { staticCredentials } from '../../../platform/kube/credentials.ts';
import type { KubeAccess } from '../../../platform/kube/kubeconfig.ts';
import { MisbehavingApi } from '../../support/misbehaving-api.ts';

let api: MisbehavingApi;
let client: KubeClient | undefined;
beforeEach(async () => {
  api = await MisbehavingApi.start();
});
afterEach(async () => {
  await client?.close();
  await api.close();
});

function clientOf(addressRule: AddressRule, access: Partial<KubeAccess> = {}): KubeClient {
  const credentials = staticCredentials({});
  client = createKubeClient(
    { server: api.url, insecure: false, credentials, ...access },
    { addressRule },
  );
  return client;
}

const refuseLoopback: AddressRule = (address) =>
  address.startsWith('127.') || address === '::1' ? 'loopback addresses are refused' : undefined;

test('a literal address is asked about before any connection', async () => {
  await expect(clientOf(refuseLoopback).get('/version', { what: 'get version' })).rejects.toThrow(
    /127\.0\.0\.1: loopback addresses are refused/,
  );
  expect(api.connections).toBe(0);
});

test('so is what a name resolves to, at the connect itself', async () => {
  const named = clientOf(refuseLoopback, { server: `http://localhost:${api.port}` });
  await expect(named.get('/version', { what: 'get version' })).rejects.toThrow(
    /localhost resolves to .*: loopback addresses are refused/,
  );
  expect(api.connections).toBe(0);
});

test('an address that is not refused is connected to', async () => {
  const named = clientOf(() => undefined, { server: `http://localhost:${api.port}` });
  await named.get('/version', { what: 'get version' });
  expect(api.connections).toBe(1);
});

test('a proxy is no way round, and its password reaches no message', async () => {
  const proxyUrl = `http://user:pass@127.0.0.1:${api.port}`;
  const proxied = clientOf(refuseLoopback, { server: 'http://192.0.2.1', proxyUrl });
  const failed = proxied.get('/version', { what: 'get version' });
  await expect(failed).rejects.toThrow('127.0.0.1: loopback addresses are refused');
  await expect(failed).rejects.not.toThrow('pass');
  expect(api.connections).toBe(0);
});
