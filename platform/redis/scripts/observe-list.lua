-- Notes the resourceVersion of a list of one kind. A list is OLDER than it can be when it is behind
-- what the caller had noted before it asked for it (lists are consistent reads): then the API server's
-- history went back (etcd was restored), versions no longer compare, and a new epoch of the view
-- begins. What other watchers noted meanwhile does not count: their lists may be younger. One also begins
-- when the list shows an object as older than the view had it by the list's own version (etcd was restored
-- and its revision raised).
-- KEYS[1] epoch record (hash)
-- ARGV    kind, resourceVersion, version noted before the list began ('' if none), epoch of that time,
--         'contradicted' if the list shows such an object
-- Returns the epoch
local field, version, floor, epoch = 'rv:' .. ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local contradicted = ARGV[5] == 'contradicted'
redis.call('HSETNX', KEYS[1], 'epoch', 1)
local current = redis.call('HGET', KEYS[1], 'epoch')
-- A version of an epoch that is over says nothing about this one.
if current ~= epoch then return tonumber(current) end
if contradicted or (floor ~= '' and newer(floor, version)) then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'epoch', tonumber(epoch) + 1, field, version)
  return tonumber(epoch) + 1
end
local seen = redis.call('HGET', KEYS[1], field)
if not seen or newer(version, seen) then redis.call('HSET', KEYS[1], field, version) end
return tonumber(epoch)
