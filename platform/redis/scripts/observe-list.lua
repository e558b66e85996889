-- Notes the resourceVersion of a list of one kind. A list that is OLDER than one seen before means
-- that the API server's history went back (etcd was restored): versions no longer compare, so a new
-- epoch of the view begins.
-- KEYS[1] epoch record (hash)   ARGV kind, resourceVersion   Returns the epoch
local field = 'rv:' .. ARGV[1]
local seen = redis.call('HGET', KEYS[1], field)
if seen and newer(seen, ARGV[2]) then
  local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
  for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
    if name ~= 'epoch' then redis.call('HDEL', KEYS[1], name) end
  end
  redis.call('HSET', KEYS[1], field, ARGV[2])
  return epoch
end
redis.call('HSET', KEYS[1], field, ARGV[2])
redis.call('HSETNX', KEYS[1], 'epoch', 1)
return tonumber(redis.call('HGET', KEYS[1], 'epoch'))
