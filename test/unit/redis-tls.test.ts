import { expect, test } from '@jest/globals';
import { tlsFaultOf } from '../../platform/redis/tls.ts';

test.each(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'])(
  'a certificate with %s is to be renewed, or a clock is wrong; no CA helps',
  (code) => {
    const said = tlsFaultOf(Object.assign(new Error('as node:tls says it'), { code }));
    expect(said).toMatch(
      /not valid now \(as node:tls says it\): renew it, or set the clocks right/,
    );
    expect(said).not.toContain('--redis-ca-file');
  },
);
