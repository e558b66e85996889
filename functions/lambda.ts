import { InvalidInputError, TetherError } from '../core/errors.ts';
import { formatKey } from '../core/object-key.ts';
import { checkReconcileRequest, type ReconcileRequest } from '../core/reconcile-request.ts';
import {
  MAX_BODY_BYTES,
  refusal,
  type HttpAnswer,
  type HttpHandler,
  type HttpRequest,
} from '../platform/http/exchange.ts';
import { redactText } from '../platform/telemetry/redact.ts';
import type { Runner } from './runner.ts';

/** The parts that are read of an event of API Gateway or of a function URL (payload format 2.0). */
export interface LambdaHttpEvent {
  readonly version: '2.0';
  readonly rawPath: string;
  readonly rawQueryString: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly requestContext: {
    /** `$default`, or a name, which `rawPath` then begins with. */
    readonly stage?: string;
    readonly http: { readonly method: string };
  };
  readonly body?: string;
  readonly isBase64Encoded: boolean;
}

export interface LambdaAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface LambdaFunction {
  readonly runner: Pick<Runner, 'run'>;
  /** For events that came over HTTP; null: they are refused, as anybody could send them. */
  readonly http: HttpHandler | null;
}

/** A direct invocation came to nothing that lasts: Lambda, or who invoked it, is to come again. */
class NotDoneError extends TetherError {
  readonly code = 'NotDone';
  constructor({ kind, key }: ReconcileRequest, { status, body }: HttpAnswer) {
    super(`${kind} ${formatKey(key)} is not done (${status}): ${reasonIn(body)}; invoke again`);
    this.name = 'NotDoneError';
  }
}

/**
 * The function in the shape that AWS Lambda wants. An event of API Gateway or of a function URL is a
 * request like any other, and must bring the token. Any other event is `{ kind, key }` itself: who may
 * invoke the function directly was decided by IAM. Whatever is returned counts as a success with Lambda,
 * so a direct invocation throws where HTTP has 429 or 5xx: only then is an event sent again.
 *
 * @param open makes the function, or gives the one that was made for an earlier invocation.
 */
export function createLambdaHandler(
  open: () => Promise<LambdaFunction>,
): (event: unknown) => Promise<LambdaAnswer> {
  return async (event) => {
    const { runner, http } = await open();
    const answer = isHttpEvent(event) ? await byHttp(event, http) : await directly(event, runner);
    return { statusCode: answer.status, headers: answer.headers, body: answer.body };
  };
}

/** @throws NotDoneError */
async function directly(event: unknown, runner: LambdaFunction['runner']): Promise<HttpAnswer> {
  let asked: ReconcileRequest;
  try {
    asked = checkReconcileRequest(event);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return refusal(400, 'BadRequest', error.message);
  }
  const answer = await runner.run(asked);
  if (answer.status === 429 || answer.status >= 500) throw new NotDoneError(asked, answer);
  return answer;
}

/** Lambda logs what is thrown, past the filter of our own log. */
function reasonIn(body: string): string {
  const { reason, error = reason } = JSON.parse(body) as Readonly<Record<string, unknown>>;
  return redactText(typeof error === 'string' ? error : 'no reason given');
}

async function byHttp(event: LambdaHttpEvent, http: HttpHandler | null): Promise<HttpAnswer> {
  if (http !== null) return http(requestOf(event), new AbortController().signal);
  const error = 'requests over HTTP need a token: set TETHER_TRIGGER_TOKEN or its _FILE';
  return refusal(403, 'Forbidden', error);
}

function isHttpEvent(event: unknown): event is LambdaHttpEvent {
  return typeof event === 'object' && event !== null && 'requestContext' in event;
}

/** Every field may be missing: tests of the console, and other formats, are requests to be refused. */
function requestOf(event: Partial<LambdaHttpEvent>): HttpRequest {
  const { rawPath = '/', rawQueryString: query = '', requestContext } = event;
  const headers = event.headers ?? {};
  const sent = typeof event.body === 'string' ? event.body : '';
  const body = event.isBase64Encoded === true ? Buffer.from(sent, 'base64').toString() : sent;
  return {
    method: requestContext?.http?.method ?? '',
    path: withoutStage(rawPath, requestContext?.stage),
    query,
    authorization: headers['authorization'],
    contentType: headers['content-type'],
    body: Buffer.byteLength(body) > MAX_BODY_BYTES ? null : body,
  };
}

/** API Gateway puts the name of a stage in front of the path, but for `$default`. */
function withoutStage(path: string, stage: string | undefined): string {
  if (typeof stage !== 'string' || stage === '') return path;
  if (path === `/${stage}`) return '/';
  return path.startsWith(`/${stage}/`) ? path.slice(stage.length + 1) : path;
}
