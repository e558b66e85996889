import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../setup/say.mjs';

/** Runs a tool of node_modules and gives its exit code and all its output. */
export function toolOutput(name, args, cwd = ROOT) {
  const program = join(ROOT, 'node_modules', '.bin', name);
  const options = { cwd, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      // Without an exit code the tool did not even start.
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined;
      const why = code === undefined ? `${name}: ${error.message}\n` : '';
      resolve({ code: code ?? 1, stdout, stderr: why + stderr });
    });
  });
}

/** Runs a tool; gives its output when it finds fault, and undefined when it does not. */
export async function runTool(name, args) {
  const { code, stdout, stderr } = await toolOutput(name, args);
  return code === 0 ? undefined : stdout + stderr || `${name} ended with ${code}`;
}
