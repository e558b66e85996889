-- Makes jobs that back off due no later than their own delay from now, by Redis' clock.
--
-- BullMQ computes when a job is due by the clock of the host that put it off (or that added an event
-- of its key meanwhile). Where that clock is ahead of the others, and its host dies, the job would wait
-- for as long as the clocks differ.
--
-- KEYS[1]  delayed: the sorted set of jobs that back off (score: ms * 4096)
-- KEYS[2]  marker: what idle workers block on
-- ARGV[1]  what the keys of jobs begin with
-- ARGV[2]  how many jobs to look at, the latest first
-- ARGV[3]  by so many ms clocks may differ
-- Returns  how many were too late
local delayed, marker, base, slack = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local latest = redis.call('ZREVRANGEBYSCORE', delayed, '+inf', (now + slack) * 4096, 'WITHSCORES',
  'LIMIT', 0, ARGV[2])
local moved = 0
for at = 1, #latest, 2 do
  local due = now + (tonumber(redis.call('HGET', base .. latest[at], 'delay') or '') or 0)
  if tonumber(latest[at + 1]) / 4096 > due + slack then
    redis.call('ZADD', delayed, due * 4096, latest[at])
    moved = moved + 1
  end
end
if moved > 0 then
  local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
  redis.call('ZADD', marker, math.floor(tonumber(first[2]) / 4096), '1')
end
return moved
