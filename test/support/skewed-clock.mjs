/*
 * Loaded into a process by NODE_OPTIONS=--import: its wall clock is TETHER_TEST_SKEW_MS off, its
 * monotonic one is not, as on a host without NTP.
 */
const skew = Number(process.env.TETHER_TEST_SKEW_MS ?? '0');
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
