// What HEALTHCHECK runs in a container: asks its role whether it gets anywhere. The answer, a sentence for
// each check, is kept by Docker: docker inspect shows it.
import { get } from 'node:http';

const { TETHER_HTTP_HOST: host = '*', TETHER_HTTP_PORT: port = '9090' } = process.env;
const options = { host: host === '*' ? '127.0.0.1' : host, port, path: '/healthz', timeout: 4000 };

const request = get(options, (response) => {
  response.pipe(process.stdout);
  response.on('end', () => (process.exitCode = response.statusCode === 200 ? 0 : 1));
});
request.on('timeout', () => request.destroy(new Error('no answer within 4 s')));
request.on('error', (error) => {
  process.stderr.write(`/healthz on port ${port}: ${error.message}\n`);
  process.exitCode = 1;
});
