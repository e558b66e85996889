import { describe, expect, it } from '@jest/globals';
import { childrenCalled, parseStat, parseStatus, readProc } from '../../../bench/measure/proc.ts';
import { difference, sumBy, total } from '../../../bench/measure/prometheus.ts';
import { parseInfo, readRedis, scriptCalls } from '../../../bench/measure/redis-stats.ts';
import { startUsageMeter } from '../../../bench/measure/usage.ts';
import { spawnTied } from '../../../platform/process/tied-child.ts';
import { fromRun } from '../../support/run.ts';

describe('/proc', () => {
  it('reads CPU time and parent, whatever the program is called', () => {
    const rest = 'S 77 4 4 0 -1 4194304 900 0 0 0 150 25 10 15 20 0 11 0 500 0 0';
    for (const name of ['node', 'a b) S 1 (c']) {
      expect(parseStat(`4711 (${name}) ${rest}`)).toEqual({ cpuSeconds: 2, parent: 77 });
    }
  });

  it('reads the resident memory and its peak', () => {
    const text = 'Name:\tnode\nVmPeak:\t  999999 kB\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\n';
    expect(parseStatus(text)).toEqual({ nowMiB: 100, peakMiB: 200 });
  });

  it('knows nothing of a process that is gone', () => {
    expect(readProc(2 ** 22 + 1, 'stat')).toBeUndefined();
  });
});

describe('UsageMeter', () => {
  it('keeps what a process had used when it died, and finds a child by its program', async () => {
    const child = spawnTied('sh', [
      '-c',
      'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 60 & wait',
    ]);
    const usage = startUsageMeter();
    try {
      usage.track('counts', child.pid);
      usage.trackChild('sleeps', child.pid, /^sleep$/);
      while (childrenCalled(child.pid, /^sleep$/).length === 0) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const alive = usage.memory();
      expect(alive.get('counts')?.peakMiB).toBeGreaterThan(0);
      expect(alive.get('sleeps')?.peakMiB).toBeGreaterThan(0);
      const before = usage.mark().get('counts') ?? 0;
      expect(before).toBeGreaterThan(0);
      const [sleeper] = childrenCalled(child.pid, /^sleep$/);
      await child.stop(0);
      if (sleeper !== undefined) process.kill(sleeper, 'SIGKILL');
      expect(usage.mark().get('counts')).toBe(before);
      expect(usage.cpuSince(new Map()).get('counts')).toBe(before);
    } finally {
      usage.close();
      await child.stop(0);
    }
  });
});

describe('metrics in Prometheus’ format', () => {
  const TEXT = `# HELP requests_total All of them.
# TYPE requests_total counter
requests_total{code="201",resource="slices",verb="POST"} 3
requests_total{code="409",resource="slices",verb="POST"} 1
requests_total{code="200",resource="a\\"b, c=\\"",verb="GET"} 2e+03
requests_total_other{verb="POST"} 99
bare_total 7
`;

  it('sums a counter by the labels that are asked for', () => {
    expect([...sumBy(TEXT, 'requests_total', ['verb'])]).toEqual([
      ['POST', 4],
      ['GET', 2000],
    ]);
    const [first] = sumBy(TEXT, 'requests_total', ['resource', 'code']);
    expect(first).toEqual(['slices 201', 3]);
    expect([...sumBy(TEXT, 'bare_total', [])]).toEqual([['', 7]]);
  });

  it('leaves out samples that are not accepted', () => {
    const accepts = (label: (name: string) => string): boolean => label('code') === '409';
    expect([...sumBy(TEXT, 'requests_total', ['verb'], accepts)]).toEqual([['POST', 1]]);
  });

  it('tells what moved, and sums it up', () => {
    const moved = difference(
      new Map([
        ['GET a', 1],
        ['POST a', 2],
      ]),
      new Map([
        ['GET a', 1],
        ['POST a', 5],
        ['PUT a', 1],
      ]),
    );
    expect([...moved]).toEqual([
      ['POST a', 3],
      ['PUT a', 1],
    ]);
    expect(total(moved)).toBe(4);
    expect(total(moved, /^PUT /)).toBe(1);
  });
});

describe('INFO of Redis', () => {
  it('reads calls by command, reads and memory', () => {
    const info = [
      '# Stats\r\ntotal_commands_processed:90\r\ntotal_reads_processed:12\r',
      'cmdstat_hget:calls=40,usec=80,usec_per_call=2.00,rejected_calls=0,failed_calls=0\r',
      'cmdstat_evalsha:calls=5,usec=500,usec_per_call=100.00\r',
      'cmdstat_config|get:calls=1,usec=9\r',
      'used_memory:3145728\r\nused_memory_human:3.00M\r\n',
    ].join('\n');
    const reading = parseInfo(info);
    expect(reading).toEqual({
      calls: new Map([
        ['hget', 40],
        ['evalsha', 5],
        ['config|get', 1],
      ]),
      reads: 12,
      usedMemoryMiB: 3,
    });
    expect(scriptCalls(reading.calls)).toBe(5);
  });

  it('is what a real server answers', async () => {
    const before = await readRedis(fromRun('redisUrl'));
    const after = await readRedis(fromRun('redisUrl'));
    const moved = difference(before.calls, after.calls);
    expect(moved.get('info')).toBeGreaterThanOrEqual(3);
    expect(after.reads).toBeGreaterThan(before.reads);
    expect(after.usedMemoryMiB).toBeGreaterThan(0);
  });
});
