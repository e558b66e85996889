#!/usr/bin/env -S node --max-semi-space-size=32
// The start of every `tether`: as little as possible, and readable to any Node, so that an old one
// gets a sentence instead of a syntax error.
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { BUNDLE, freshBundle } from './bundle.js';

const NEEDED = 24;
const major = Number(process.versions.node.split('.')[0]);
const at = (path) => fileURLToPath(new URL(path, import.meta.url));

if (major >= NEEDED) await start();
else await startOnNewerNode();

async function start() {
  // Compiled code is kept between starts; it halves a start. Node writes it when the process ends in
  // order, which one that is killed never does.
  nodeModule.enableCompileCache?.();
  // Much of the first seconds' work runs but a few times: types are to be learned at the first call.
  setFlagsFromString('--no-lazy-feedback-allocation');
  setTimeout(() => nodeModule.flushCompileCache?.(), 10_000).unref();
  const { main } = await import(entry());
  process.exitCode = await main(process.argv.slice(2));
}

/** Sources run as they are, too, but Node refuses to under node_modules. */
function entry() {
  const inPackage = import.meta.url.includes('/node_modules/');
  if (inPackage || !existsSync(at('./main.ts'))) return at(`../${BUNDLE}`);
  return freshBundle() ?? './main.ts';
}

/** The clone brings a Node of its own as a dev dependency. */
async function startOnNewerNode() {
  const own = at('../node_modules/node/bin/node');
  if (!existsSync(own)) {
    process.stderr.write(
      `tether: needs Node ${NEEDED} or newer, this is ${process.versions.node}; ` +
        'install one (https://nodejs.org), or run `npm run setup` in the clone\n',
    );
    process.exitCode = 1;
    return;
  }
  const { spawn } = await import('node:child_process');
  const child = spawn(own, ['--max-semi-space-size=32', at('./bin.js'), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('error', (error) => {
    process.stderr.write(`tether: ${own} does not start: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
  });
}
