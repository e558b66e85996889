import type { IncomingMessage, ServerResponse } from 'node:http';

export const JSON_TYPE = { 'content-type': 'application/json' };
/** Most behaviours do not look at the request. */
export const NO_REQUEST = {} as IncomingMessage;

/** Answers a request in its own way; `proceed` answers it properly. */
export type Behaviour = (
  request: IncomingMessage,
  response: ServerResponse,
  proceed: () => void,
) => void;

/** A refusal, as a Status. */
export function refuse(
  code: number,
  status: { reason?: string; message?: string; causes?: object[] } = {},
  headers: Record<string, string> = {},
): Behaviour {
  const { reason = '', message = `refused with ${code}`, causes = [] } = status;
  const body = { kind: 'Status', status: 'Failure', code, reason, message, details: { causes } };
  return answer(code, JSON.stringify(body), { ...JSON_TYPE, ...headers });
}

/** Any answer at all. */
export function answer(code: number, body: string, headers: Record<string, string>): Behaviour {
  return (_request, response) => {
    response.writeHead(code, headers);
    response.end(body);
  };
}

/** What a captive portal or a proxy says. */
export const html = (code: number): Behaviour =>
  answer(code, '<html>\n<body>Please log in</body></html>', { 'content-type': 'text/html' });

/** Takes the request and never answers. */
export const blackHole: Behaviour = () => undefined;

/** Accepts a watch, and then nothing: what a connection that is dead on one side looks like. */
export const silence: Behaviour = (_request, response) => {
  response.writeHead(200, JSON_TYPE);
  response.flushHeaders();
};

/** A watch whose lines are these, followed by its clean end. */
export const lines = (...texts: string[]): Behaviour =>
  answer(200, texts.map((text) => `${text}\n`).join(''), JSON_TYPE);

/** Closes the connection without an answer. */
export const cut: Behaviour = (request) => void request.socket.destroy();

/** Answers properly, but only when told to. */
export function held(): { behaviour: Behaviour; release: () => void } {
  const gate = Promise.withResolvers<void>();
  return {
    behaviour: (_request, _response, proceed) => void gate.promise.then(proceed),
    release: gate.resolve,
  };
}

/** The text of a watch line that carries a Status. */
export function errorLine(code: number, reason: string, message: string): string {
  const object = { kind: 'Status', status: 'Failure', code, reason, message };
  return JSON.stringify({ type: 'ERROR', object });
}
