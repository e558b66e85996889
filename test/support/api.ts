import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { parse } from 'yaml';
import { fromRun } from './run.ts';

/** An answer of the API server. */
export interface ApiAnswer {
  readonly status: number;
  /** Parsed JSON; an empty body is undefined. */
  readonly body: unknown;
}

/** What may be told apart from a plain JSON request. */
export interface ApiOptions {
  /** `application/merge-patch+json` for a PATCH, … Default `application/json`. */
  readonly contentType?: string;
  /** Another cluster's kubeconfig. Default: the cluster of this run. */
  readonly kubeconfig?: string;
}

/**
 * Sends one request to the API server of this test run, whatever the status of its answer. Each
 * request has its own connection, so nothing stays open for a test to close.
 */
export function api(
  method: string,
  path: string,
  body?: unknown,
  options: ApiOptions = {},
): Promise<ApiAnswer> {
  const access = readAccess(options.kubeconfig ?? fromRun('kubeconfig'));
  const headers = {
    authorization: `Bearer ${access.token}`,
    accept: 'application/json',
    'content-type': options.contentType ?? 'application/json',
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${access.server}${path}`,
      { method, headers, ca: access.ca, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const parsed: unknown = text === '' ? undefined : parseBody(text);
          resolve({ status: response.statusCode ?? 0, body: parsed });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/**
 * As `api`, but gives the body and takes nothing but success.
 *
 * @throws {Error} with the server's answer for any status but 2xx.
 */
export async function apiOk(
  method: string,
  path: string,
  body?: unknown,
  options: ApiOptions = {},
): Promise<unknown> {
  const answer = await api(method, path, body, options);
  if (answer.status >= 200 && answer.status < 300) return answer.body;
  throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}

interface Access {
  readonly server: string;
  readonly token: string;
  readonly ca: Buffer;
}

/** The parts of a kubeconfig as the control plane of the tests writes it. */
interface Kubeconfig {
  readonly clusters?: {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
  readonly users?: { readonly user: { readonly token: string } }[];
}

function readAccess(path: string): Access {
  const config = parse(readFileSync(path, 'utf8')) as Kubeconfig;
  const cluster = config.clusters?.[0]?.cluster;
  const user = config.users?.[0]?.user;
  if (cluster === undefined || user === undefined) throw new Error(`${path} names no cluster`);
  const ca = Buffer.from(cluster['certificate-authority-data'], 'base64');
  return { server: cluster.server, token: user.token, ca };
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // /readyz and some errors are plain text.
    return text;
  }
}
