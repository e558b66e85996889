// Makes the bundle in dist/: what a package holds (Node does not run TypeScript under node_modules), and
// what `tether` starts from in a clone while no source has changed since.
import { makeBundle } from './setup/bundle.mjs';

await makeBundle();
