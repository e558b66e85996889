-- Notes the resourceVersion of a list of one kind. A list is OLDER than it can be when it is behind
-- what the caller had noted before it asked for it (lists are consistent reads): then the API server's
-- history went back (etcd was restored), versions no longer compare, and a new epoch of the view
-- begins. What other watchers noted meanwhile does not count: their lists may be younger.
-- KEYS[1] epoch record (hash)
-- ARGV    kind, resourceVersion, version noted before the list began ('' if none), epoch of that time
-- Returns the epoch
local field, version, floor, epoch = 'rv:' .. ARGV[1], ARGV[2], ARGV[3], ARGV[4]
redis.call('HSETNX', KEYS[1], 'epoch', 1)
local current = redis.call('HGET', KEYS[1], 'epoch')
if floor ~= '' and newer(floor, version) and current == epoch then
  current = tostring(redis.call('HINCRBY', KEYS[1], 'epoch', 1))
  for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
    if name ~= 'epoch' then redis.call('HDEL', KEYS[1], name) end
  end
end
local seen = redis.call('HGET', KEYS[1], field)
if not seen or newer(version, seen) then redis.call('HSET', KEYS[1], field, version) end
return tonumber(current)
