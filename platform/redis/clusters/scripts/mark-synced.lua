-- Notes that one kind was listed in full, at a version ('' if it is not known).
-- KEYS[1] meta hash   ARGV base, kind, rv
-- Returns 0 when the generation is closed, else 1
local base, kind, rv = ARGV[1], ARGV[2], ARGV[3]
if not is_open(base) then return 0 end
redis.call('HSET', KEYS[1], 'synced:' .. kind, '1')
local position = redis.call('HGET', KEYS[1], 'rv:' .. kind)
if rv ~= '' and (not position or newer(rv, position)) then redis.call('HSET', KEYS[1], 'rv:' .. kind, rv) end
return 1
