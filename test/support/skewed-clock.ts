const PROGRAM = `
const skew = SKEW;
const RealDate = globalThis.Date;
globalThis.Date = class Date extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + skew);
    else super(...args);
  }
  static now() {
    return RealDate.now() + skew;
  }
};
`;

/**
 * The environment of a process whose wall clock is so many ms off, as on a host without NTP; its
 * monotonic clock is right.
 */
export function skewedClock(skewMs: number): Record<string, string> {
  const program = encodeURIComponent(PROGRAM.replace('SKEW', String(skewMs)));
  return { NODE_OPTIONS: `--import data:text/javascript,${program}` };
}
