import type { ServerResponse } from 'node:http';

const JSON_TYPE = { 'content-type': 'application/json' };
const TEXT_TYPE = { 'content-type': 'text/plain; charset=utf-8' };

/** A refusal in the form that API servers give it. */
export interface Refusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, string>>;
  /** Of a list that cannot go on: where it may, if the reader can do without one version. */
  readonly continueAt?: string;
}

export function sendJson(response: ServerResponse, code: number, body: string): void {
  response.writeHead(code, { ...JSON_TYPE, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** What an API server says of a path that it does not know. */
export function sendUnknownPath(response: ServerResponse): void {
  response.writeHead(404, TEXT_TYPE);
  response.end('404 page not found\n');
}

export function refuse(response: ServerResponse, refusal: Refusal): void {
  sendJson(response, refusal.code, statusText(refusal));
}

/** The text of a Status. */
export function statusText({ code, reason, message, details, continueAt }: Refusal): string {
  const metadata = continueAt === undefined ? {} : { continue: continueAt };
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata,
    status: 'Failure',
    message,
    reason,
    ...(details === undefined ? {} : { details }),
    code,
  });
}

export const UNAUTHORIZED: Refusal = {
  code: 401,
  reason: 'Unauthorized',
  message: 'Unauthorized',
};

export function forbidden(
  user: string,
  verb: string,
  { plural, group }: { plural: string; group: string },
): Refusal {
  const what = `resource "${plural}" in API group "${group}" at the cluster scope`;
  return {
    code: 403,
    reason: 'Forbidden',
    message: `${group === '' ? plural : `${plural}.${group}`} is forbidden: User "${user}" cannot ${verb} ${what}`,
    details: { ...(group === '' ? {} : { group }), kind: plural },
  };
}

export function badRequest(message: string): Refusal {
  return { code: 400, reason: 'BadRequest', message };
}

export function expiredList(continueAt: string): Refusal {
  const message =
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.';
  return { code: 410, reason: 'Expired', message, continueAt };
}

export function tooOld(version: number, oldest: number): Refusal {
  const message = `too old resource version: ${version} (${oldest})`;
  return { code: 410, reason: 'Expired', message };
}
