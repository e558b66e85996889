import { describeError } from '../../core/errors.ts';
import { errorCode } from './error-code.ts';

const HINTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; does the API server run, and is the port right?',
  ECONNRESET: 'the connection was reset by the other side',
  EPIPE: 'the connection was closed by the other side',
  UND_ERR_SOCKET: 'the connection was closed by the other side',
  ENOTFOUND: 'the name does not resolve; check the server of the kubeconfig and DNS',
  EAI_AGAIN: 'the name could not be resolved for now; check DNS',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the network',
  ETIMEDOUT: 'no connection could be made in time; is a firewall between?',
  UND_ERR_CONNECT_TIMEOUT: 'no connection could be made in time; is a firewall between?',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not signed by the CA of the kubeconfig',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not signed by the CA of the kubeconfig',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by the CA of the kubeconfig',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not signed by the CA of the kubeconfig',
  CERT_SIGNATURE_FAILURE: 'its certificate is not signed by the CA of the kubeconfig',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; compare the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another name; set tls-server-name in the kubeconfig',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS; is the server http, or behind a proxy?',
  EPROTO: 'the TLS handshake failed',
};

/** Turns what undici or Node raised into a sentence: which server, what failed, what to look at. */
export function explainNetworkError(server: string, error: unknown): Error {
  const code = errorCode(error);
  const hint = code === undefined ? undefined : HINTS[code];
  const message = hint === undefined ? describeError(error) : `${hint} (${code})`;
  return new Error(`${server}: ${message}`, { cause: error });
}
