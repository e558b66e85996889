#!/usr/bin/env -S node --max-semi-space-size=32
// `tether`, but from its sources even where there is a bundle.
import { main } from '../../cli/main.ts';

process.exitCode = await main(process.argv.slice(2));
