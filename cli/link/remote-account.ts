import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, isNotFound } from '../../core/errors.ts';
import { probeCluster } from '../../functions/probe-cluster.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { CommandError } from '../failures.ts';
import { serverSideApply } from '../server-side-apply.ts';
import type { LinkOptions } from './options.ts';
import { accountPath, remoteRbac, type RbacStep } from './remote-rbac.ts';

/** What the API server gave for a TokenRequest. */
export interface GrantedToken {
  readonly token: string;
  /** ms since 1970. */
  readonly expiresAt: number;
}

const HOUR_MS = 3_600_000;

/**
 * Makes sure that the account and its rights are there in the linked cluster; what is as it should be
 * stays as it is.
 *
 * @throws CommandError when others hold fields of them; ApiError when the user may not apply them.
 */
export async function applyRbac(
  client: KubeClient,
  { account, force }: LinkOptions,
  signal: AbortSignal,
): Promise<void> {
  for (const step of remoteRbac(account)) {
    // A namespace that is there is somebody's: nothing of it is ours to state.
    if (step.kind === 'namespace' && (await isThere(client, step, signal))) continue;
    const { path, object } = step;
    const name = `${step.name} on ${client.server}`;
    await serverSideApply(client, { name, path, object, force }, signal).catch((error: unknown) => {
      throw forbidden(error) ? withoutRights(error) : error;
    });
  }
}

async function isThere(client: KubeClient, step: RbacStep, signal: AbortSignal): Promise<boolean> {
  try {
    await client.get(step.path, { what: `get ${step.name} on ${client.server}`, signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    // Whoever may not look may still be allowed to apply the rest.
    if (forbidden(error)) return true;
    throw error;
  }
}

function forbidden(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 403;
}

function withoutRights(error: ApiError): CommandError {
  return new CommandError(
    `${error.message}; let an administrator of that cluster apply infra/rbac/remote.yaml, then say ` +
      '--skip-rbac',
  );
}

/**
 * Asks for a token of the account (TokenRequest). The server may grant less time than is asked for.
 *
 * @throws CommandError when there is no such account; ApiError for any other refusal.
 */
export async function requestToken(
  client: KubeClient,
  { account, tokenHours }: LinkOptions,
  signal: AbortSignal,
): Promise<GrantedToken> {
  const name = `${account.namespace}/${account.name}`;
  const what = `create a token of serviceaccount ${name} on ${client.server}`;
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: (tokenHours * HOUR_MS) / 1000 },
  };
  try {
    const answer = await client.create<{
      readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
    }>(`${accountPath(account)}/token`, body, { what, signal });
    const { token, expirationTimestamp } = answer.status ?? {};
    const expiresAt = Date.parse(expirationTimestamp ?? '');
    if (token === undefined || Number.isNaN(expiresAt)) {
      throw new CommandError(`${what}: the answer holds no token; is this an API server?`);
    }
    return { token, expiresAt };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CommandError(
      `serviceaccount ${name} is not there on ${client.server}: leave out --skip-rbac, or apply ` +
        'infra/rbac/remote.yaml',
    );
  }
}

/** Rights take a moment from their grant to the authorizer; ms. */
const RIGHTS_TIMEOUT_MS = 10_000;
const POLL_MS = 200;

/**
 * Waits until the account of `client` gets through the probe that workers make of a cluster Secret.
 *
 * @throws CommandError in the probe's words, such as the rights that are missing.
 */
export async function checkRights(client: KubeClient, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + RIGHTS_TIMEOUT_MS;
  for (;;) {
    const probe = await probeCluster(client, signal);
    if (probe.ok) return;
    if (performance.now() > deadline) throw new CommandError(probe.reason);
    await delay(POLL_MS, undefined, { signal });
  }
}
