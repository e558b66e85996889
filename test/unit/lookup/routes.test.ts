import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseUrl } from '../../../lookup/routes.ts';

const endpoints = '/v1/clusters/east/services/shop/web/endpoints';
const plain = {
  kind: 'endpoints',
  cluster: 'east',
  key: 'shop/web',
  port: '',
  watch: false,
  maxAgeMs: null,
};

test.each([
  ['/v1/clusters', { kind: 'clusters' }],
  ['/v1/clusters?', { kind: 'clusters' }],
  ['/v1/clusters/east', { kind: 'cluster', cluster: 'east' }],
  ['/v1/clusters/east.eu/services', { kind: 'services', cluster: 'east.eu', maxAgeMs: null }],
  [
    '/v1/clusters/e%61st/services?max-age=0.5',
    { kind: 'services', cluster: 'east', maxAgeMs: 500 },
  ],
  [endpoints, plain],
  [`${endpoints}?port=http&watch=true`, { ...plain, port: 'http', watch: true }],
  [`${endpoints}?port=80&max-age=30`, { ...plain, port: '80', maxAgeMs: 30_000 }],
  ['/v1/services/shop/web/endpoints', { ...plain, cluster: '' }],
  ['/v1/openapi.json', { kind: 'openapi' }],
])('%s is understood', (url, route) => {
  expect(parseUrl(url)).toEqual({ route });
});

test.each([
  ['/', 404, 'PathNotFound'],
  ['', 404, 'PathNotFound'],
  ['*', 404, 'PathNotFound'],
  ['http://east/v1/clusters', 404, 'PathNotFound'],
  ['/v2/clusters', 404, 'PathNotFound'],
  ['/v1/clusters/', 400, 'BadRequest'],
  ['/v1/clusters/EAST', 400, 'BadRequest'],
  ['/v1/clusters/.local', 400, 'BadRequest'],
  ['/v1/clusters/east/pods', 404, 'PathNotFound'],
  ['/v1/clusters/east%2fwest', 400, 'BadRequest'],
  ['/v1/clusters/east/services/shop/web', 404, 'PathNotFound'],
  [`${endpoints}/`, 404, 'PathNotFound'],
  ['/v1/clusters/east/services/a.b/web/endpoints', 400, 'BadRequest'],
  ['/v1/clusters/east/services/../web/endpoints', 400, 'BadRequest'],
  ['/v1/services/shop/web%/endpoints', 400, 'BadRequest'],
  [`${endpoints}?watch=yes`, 400, 'BadRequest'],
  [`${endpoints}?maxage=3`, 400, 'BadRequest'],
  [`${endpoints}?max-age=-1`, 400, 'BadRequest'],
  [`${endpoints}?port=`, 400, 'BadRequest'],
  [`${endpoints}?port=a&port=b`, 400, 'BadRequest'],
  ['/v1/clusters?watch=true', 400, 'BadRequest'],
  [`/v1/clusters/${'a'.repeat(2_100)}`, 414, 'UriTooLong'],
])('%s is refused with a sentence', (url, status, code) => {
  expect(parseUrl(url)).toEqual({ status, refusal: { code, error: expect.stringMatching(/\w/) } });
});

test('whatever a URL is, it is understood or refused, and what is quoted of it is short', () => {
  const pieces = 'v1 clusters services endpoints east shop .. % %00 %2F 🚀'.split(' ');
  const parts = fc.constantFrom(...pieces, '');
  const path = fc
    .array(fc.oneof(parts, fc.string()), { maxLength: 9 })
    .map((all) => `/${all.join('/')}`);
  const query = fc.oneof(fc.string(), fc.webQueryParameters(), fc.constant('port=%FF&max-age=1e9'));
  fc.assert(
    fc.property(fc.oneof(path, fc.string(), fc.webUrl()), query, (before, after) => {
      const parsed = parseUrl(`${before}?${after}`);
      if ('route' in parsed) return;
      expect([400, 404, 414]).toContain(parsed.status);
      expect(parsed.refusal.error.length).toBeLessThan(700);
    }),
    { numRuns: 2_000 },
  );
});
