import { execFile } from 'node:child_process';
import { fromRun } from './run.ts';

const LARGEST_OUTPUT_BYTES = 256 * 1024 * 1024;

/**
 * Runs kubectl against the cluster of this test run and gives its standard output.
 *
 * @param stdin what it reads: `kubectl(['apply', '-f', '-'], manifest)`.
 * @param kubeconfig another cluster's kubeconfig.
 * @throws {Error} with kubectl's own words when it fails.
 */
export function kubectl(
  args: readonly string[],
  stdin = '',
  kubeconfig = fromRun('kubeconfig'),
): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    const options = { env, maxBuffer: LARGEST_OUTPUT_BYTES };
    const child = execFile(fromRun('kubectl'), args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`kubectl ${args.join(' ')}: ${stderr.trim() || error.message}`));
    });
    // It may end without reading.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(stdin);
  });
}
