import { buildUpstream, upstreamIsBuilt } from './upstream.ts';

// What the set-up of `npm test` runs: has the reconciler of Kubernetes built, and says nothing else.
try {
  if (!upstreamIsBuilt()) {
    const from = performance.now();
    process.stderr.write(
      'building the EndpointSlice reconciler of Kubernetes from Go modules, once: about two minutes on 2 cores\n',
    );
    buildUpstream();
    process.stderr.write(`built in ${((performance.now() - from) / 1000).toFixed(0)} s\n`);
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
