import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { kubectl } from '../support/kubectl.ts';
import { fromRun } from '../support/run.ts';

describe('the optional warnings about an ExternalWorkload', () => {
  const policy = join(import.meta.dirname, '../../infra/crd/warnings/externalworkloads.yaml');
  beforeAll(() => kubectl(['apply', '-f', policy]));
  afterAll(() => kubectl(['delete', '-f', policy]));

  /** What kubectl prints beside its output when it asks the API server to take an object. */
  async function warnings(spec: object): Promise<string> {
    const args = ['--kubeconfig', fromRun('kubeconfig'), 'create', '-n', 'default'];
    const run = promisify(execFile)(fromRun('kubectl'), [...args, '--dry-run=server', '-f', '-']);
    const apiVersion = 'workload.linkerd.io/v1beta1';
    const object = { apiVersion, kind: 'ExternalWorkload', metadata: { name: 'vm' }, spec };
    run.child.stdin?.end(JSON.stringify(object));
    return (await run).stderr;
  }

  test('name what slices will leave out, and refuse nothing', async () => {
    const ips = ['192.0.2.1', '127.0.0.1'].map((ip) => ({ ip }));
    const ports = ['tcp', 'TCP', 'TCP'].map((protocol, i) => ({
      name: 'a',
      port: 80 + i,
      protocol,
    }));
    // The API server takes up a policy some seconds after it was made.
    await eventually(async () => {
      const text = await warnings({ workloadIPs: ips, ports });
      expect(text).toContain('no slice may hold "127.0.0.1";');
      expect(text).toContain('a protocol other than TCP, UDP and SCTP');
      expect(text).toContain('a name twice for one protocol');
    });
    expect(await warnings({})).toContain('spec.workloadIPs is empty');
  });

  test('are silent for a good object', async () => {
    const ports = [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns', port: 53 },
      { port: 80 },
      { port: 81 },
    ];
    expect(
      await warnings({ workloadIPs: [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }], ports }),
    ).toBe('');
  });
});
