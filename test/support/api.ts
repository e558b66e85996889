import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { parse } from 'yaml';
import { fromRun } from './run.ts';

/** An answer of the API server. */
export interface ApiAnswer {
  readonly status: number;
  /** Content type. */
  readonly type: string;
  /** Parsed JSON; an empty body is undefined. */
  readonly body: unknown;
}

/** What may be told apart from a plain JSON request. */
export interface ApiOptions {
  /** `application/merge-patch+json` for a PATCH, … Default `application/json`. */
  readonly contentType?: string;
  /** Another cluster's kubeconfig. Default: the cluster of this run. */
  readonly kubeconfig?: string;
  /** Instead of the kubeconfig's own; null: none at all. */
  readonly token?: string | null;
  /** Of a watch: ends it once it has brought so many lines. */
  readonly lines?: number;
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
  const token = options.token === undefined ? access.token : options.token;
  const headers = {
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    accept: 'application/json',
    'content-type': options.contentType ?? 'application/json',
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${access.server}${path}`,
      { method, headers, agent: false, ...access.tls },
      (response) => {
        const chunks: Buffer[] = [];
        const finish = (): void => {
          const text = Buffer.concat(chunks).toString();
          const parsed: unknown = text === '' ? undefined : parseBody(text);
          const type = response.headers['content-type'] ?? '';
          resolve({ status: response.statusCode ?? 0, type, body: parsed });
        };
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (options.lines === undefined || countLines(chunks) < options.lines) return;
          finish();
          outgoing.destroy();
        });
        response.on('error', reject);
        response.on('end', finish);
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
  readonly tls: { readonly ca: Buffer; readonly servername?: string };
}

/** The parts of a kubeconfig as the control plane of the tests writes it. */
interface Kubeconfig {
  readonly clusters?: {
    readonly cluster: {
      readonly server: string;
      readonly 'certificate-authority-data': string;
      readonly 'tls-server-name'?: string;
    };
  }[];
  readonly users?: { readonly user: { readonly token: string } }[];
}

function readAccess(path: string): Access {
  const config = parse(readFileSync(path, 'utf8')) as Kubeconfig;
  const cluster = config.clusters?.[0]?.cluster;
  const user = config.users?.[0]?.user;
  if (cluster === undefined || user === undefined) throw new Error(`${path} names no cluster`);
  const ca = Buffer.from(cluster['certificate-authority-data'], 'base64');
  const servername = cluster['tls-server-name'];
  const tls = servername === undefined ? { ca } : { ca, servername };
  return { server: cluster.server, token: user.token, tls };
}

function countLines(chunks: readonly Buffer[]): number {
  return Buffer.concat(chunks).toString().split('\n').length - 1;
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // /readyz and some errors are plain text.
    return text;
  }
}
