-- Counts the jobs of a queue, and finds out since when the oldest of those that could run waits.
--
-- A job that was put off could run once its time has come. Where workers live they take it then; where
-- none does it stays among those that back off, and is to be told from them: it wants a worker.
--
-- KEYS     wait, active, delayed (score: ms * 4096), prioritized, failed
-- ARGV[1]  what the keys of jobs begin with
-- ARGV[2]  priority of resyncs
-- Returns  { waiting, active, delayed, prioritized, failed, due: how many of the delayed ones could run,
--            ms since 1970 since when the oldest waits ('' for none) }
local wait, active, delayed, prioritized, failed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

-- One that ran before waits since that run, whatever its age: a key that fails has been there for hours.
local function waits_since(job)
  local times = redis.call('HMGET', ARGV[1] .. job, 'timestamp', 'processedOn')
  local added, ran = tonumber(times[1] or ''), tonumber(times[2] or '')
  return math.max(added or 0, ran or 0)
end

local oldest = ''
local function consider(since)
  if since > 0 and (oldest == '' or since < oldest) then oldest = since end
end

-- Each class is served in the order of its adds: the oldest job is the first of one of them.
local first_resync = tonumber(ARGV[2]) * 0x100000000
local firsts = {
  redis.call('LINDEX', wait, -1),
  redis.call('ZRANGE', prioritized, 0, 0)[1],
  redis.call('ZRANGEBYSCORE', prioritized, first_resync, '+inf', 'LIMIT', 0, 1)[1],
}
for at = 1, 3 do
  if firsts[at] then consider(waits_since(firsts[at])) end
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local last_due = (now + 1) * 4096 - 1
local due = redis.call('ZCOUNT', delayed, '-inf', last_due)
if due > 0 then
  local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
  local at = math.floor(tonumber(first[2]) / 4096)
  -- Score 0: an event made it due, and no time was kept.
  consider(at > 0 and at or waits_since(first[1]))
end
return {
  redis.call('LLEN', wait), redis.call('LLEN', active), redis.call('ZCARD', delayed),
  redis.call('ZCARD', prioritized), redis.call('ZCARD', failed), due, oldest,
}
