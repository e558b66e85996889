-- Opens a generation for writing, unless a newer one serves or this one was closed for good.
-- KEYS[1] number of the generation that serves   KEYS[2] generations that have keys
-- ARGV    base, generation
-- Returns nothing (nil) when it may not be opened, else { fields and values of its meta hash }
local base, generation = ARGV[1], ARGV[2]
local serving = redis.call('GET', KEYS[1])
if serving and tonumber(serving) > tonumber(generation) then return false end
redis.call('SADD', KEYS[2], generation)
redis.call('HSET', base .. 'meta', 'open', '1')
return redis.call('HGETALL', base .. 'meta')
