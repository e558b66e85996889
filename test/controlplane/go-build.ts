import { createInterface } from 'node:readline';
import { spawnTied, type ChildExit } from '../../platform/process/tied-child.ts';

/** A program of a Go module. */
export interface GoTool {
  readonly name: string;
  readonly package: string;
  readonly linkerFlags: string;
  /** What to do where there is no Go: `set …`. */
  readonly instead: string;
}

const REPORT_EVERY_MS = 10_000;
const COMMAND_NOT_FOUND = 127;
const KEPT_LINES = 30;

/**
 * Builds one Go program into the file `output`, with a line of progress every ten seconds.
 *
 * @throws {Error} naming the tool, with the compiler's last lines, or saying that Go is missing.
 */
export async function goBuild(
  tool: GoTool,
  moduleDir: string,
  output: string,
  progress: (line: string) => void,
): Promise<void> {
  const start = Date.now();
  const seconds = (): number => Math.round((Date.now() - start) / 1000);
  const flags = ['-v', '-trimpath', '-buildvcs=false', '-ldflags', tool.linkerFlags, '-o', output];
  const child = spawnTied('go', ['build', ...flags, tool.package], {
    cwd: moduleDir,
    // No C compiler needed, and the result runs on any distribution.
    env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
    stderr: 'pipe',
  });
  let lines = 0;
  let last: string[] = [];
  // With -v Go names each package that it compiles, and each module that it downloads.
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines++;
      last = [...last, line].slice(-KEPT_LINES);
    });
  }
  const report = setInterval(
    () => progress(`  ${tool.name}: ${seconds()} s, ${lines} packages so far`),
    REPORT_EVERY_MS,
  );
  const exit = await child.exited.finally(() => clearInterval(report));
  if (exit.code !== 0) throw new Error(whyFailed(tool, exit, last));
  progress(`  ${tool.name}: built in ${seconds()} s`);
}

function whyFailed(tool: GoTool, exit: ChildExit, last: readonly string[]): string {
  if (exit.code === COMMAND_NOT_FOUND) {
    return (
      `Go is needed to build ${tool.name} and is not on the PATH. Install Go 1.26 or newer ` +
      `(https://go.dev/dl), or ${tool.instead}`
    );
  }
  return (
    `go build of ${tool.name} (${tool.package}) ended with ${exit.signal ?? exit.code}. It needs ` +
    'Go 1.26 or newer, the Go module proxy, and some 4 GB of disk. The last lines:\n' +
    last.map((line) => `  ${line}`).join('\n')
  );
}
