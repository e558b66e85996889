-- Gives out a number for an accepted content: the next one, or the time if that is later. So numbers go
-- on growing where Redis was restored from an older snapshot and has forgotten the last ones.
-- KEYS[1] the last number   KEYS[2] how many were given out
-- Returns the number, as text
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
-- Lua writes large numbers with an exponent if left to itself.
local generation = string.format('%.0f', math.max(last + 1, now))
redis.call('SET', KEYS[1], generation)
redis.call('INCR', KEYS[2])
return generation
