import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { spawnTied, type TiedChild } from '../../platform/process/tied-child.ts';
import type { Credentials } from './credentials.ts';

/** Always run: without them an owner's slices and a namespace's objects stay for ever. */
const BASE_CONTROLLERS = ['garbage-collector-controller', 'namespace-controller'];

/** Starts a program whose output goes to `DIR/NAME.log` and that ends with this process. */
function start(dir: string, name: string, program: string, flags: readonly string[]): TiedChild {
  const log = openSync(join(dir, `${name}.log`), 'w');
  try {
    return spawnTied(program, flags, { stdout: log, stderr: log });
  } finally {
    // The child has its own copy of the descriptor.
    closeSync(log);
  }
}

/** Starts etcd; nothing is worth an fsync in a control plane that lives for a test. */
export function startEtcd(
  program: string,
  dir: string,
  ports: { readonly client: number; readonly peer: number },
): TiedChild {
  const client = `http://127.0.0.1:${ports.client}`;
  const peer = `http://127.0.0.1:${ports.peer}`;
  return start(dir, 'etcd', program, [
    `--data-dir=${join(dir, 'etcd')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--unsafe-no-fsync',
    '--quota-backend-bytes=8589934592',
    '--log-level=error',
  ]);
}

/** What tells one API server from another on the same etcd. */
export interface ApiServerOptions {
  readonly name: string;
  readonly port: number;
  readonly etcdUrl: string;
  readonly certDir: string;
  readonly credentials: Credentials;
  /** Flags that come after all others. */
  readonly more: readonly string[];
}

/** Starts a kube-apiserver that signs its own certificate into `certDir`. */
export function startApiServer(program: string, dir: string, options: ApiServerOptions): TiedChild {
  const { name, port, credentials } = options;
  return start(dir, `${name}-kube-apiserver`, program, [
    `--etcd-servers=${options.etcdUrl}`,
    `--etcd-prefix=/${name}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${options.certDir}`,
    `--token-auth-file=${credentials.tokenFile}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${credentials.serviceAccountKeyFile}`,
    `--service-account-signing-key-file=${credentials.serviceAccountKeyFile}`,
    // Both families, so that dual-stack Services can be made.
    '--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112',
    // It would publish a loopback address in the Service `kubernetes`, which is refused.
    '--endpoint-reconciler-type=none',
    // Pods stand in for real ones and need no service account (no controller makes them here).
    '--disable-admission-plugins=ServiceAccount',
    // Measurements must meet the server's own limits, not those of flow control.
    '--max-requests-inflight=3000',
    '--max-mutating-requests-inflight=1000',
    '--allow-privileged=true',
    '-v=0',
    ...options.more,
  ]);
}

/** Starts a kube-controller-manager with garbage collection, namespaces and the `extra` controllers. */
export function startControllerManager(
  program: string,
  dir: string,
  options: {
    readonly name: string;
    readonly kubeconfig: string;
    readonly extra: readonly string[];
  },
): TiedChild {
  return start(dir, `${options.name}-kube-controller-manager`, program, [
    `--kubeconfig=${options.kubeconfig}`,
    `--controllers=${[...BASE_CONTROLLERS, ...options.extra].join(',')}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    '--concurrent-namespace-syncs=50',
    '-v=0',
  ]);
}
