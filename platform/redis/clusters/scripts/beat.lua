-- Says that a watcher process lives, and who else does.
-- KEYS[1] watcher processes, by when they were last heard of (ms, Redis' clock)
-- ARGV    id, silence after which one is out (ms)
-- Returns { id, … }
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. now - tonumber(ARGV[2]))
return redis.call('ZRANGE', KEYS[1], 0, -1)
