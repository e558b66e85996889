-- Counts the jobs of a queue, and finds out how long the oldest of those that could run has waited.
--
-- KEYS     wait, active, delayed, prioritized, failed
-- ARGV[1]  what the keys of jobs begin with
-- ARGV[2]  priority of resyncs
-- Returns  { waiting, active, delayed, prioritized, failed, when the oldest was added ('' for none) }
local wait, active, delayed, prioritized, failed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

-- Each class is served in the order of its adds: the oldest job is the first of one of them.
local first_resync = tonumber(ARGV[2]) * 0x100000000
local firsts = {
  redis.call('LINDEX', wait, -1),
  redis.call('ZRANGE', prioritized, 0, 0)[1],
  redis.call('ZRANGEBYSCORE', prioritized, first_resync, '+inf', 'LIMIT', 0, 1)[1],
}
local oldest = ''
for at = 1, 3 do
  local added = firsts[at] and redis.call('HGET', ARGV[1] .. firsts[at], 'timestamp')
  if added and (oldest == '' or tonumber(added) < tonumber(oldest)) then oldest = added end
end
return {
  redis.call('LLEN', wait), redis.call('LLEN', active), redis.call('ZCARD', delayed),
  redis.call('ZCARD', prioritized), redis.call('ZCARD', failed), oldest,
}
