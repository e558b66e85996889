-- Ends a run: records the slices that it wrote and deleted, settles the key's count of failures, and
-- gives the lock back. Slices are recorded only while the token still holds: what was written after
-- the lock was lost stays unknown, so that its echo dirties the key and heals it.
--
-- KEYS[1]  lock of the key
-- ARGV     token, base, key of the failure counts, service name, 'ok'|'failed'|'neutral', tombstone TTL
--          (ms), then five for each slice: name, rv, uid, index, body; an empty body: it was deleted
--          (only whoever holds the lock may touch the count: it is the running one's)
-- Returns  { held 0|1, failures before, failures now }
local token, base, failures, service, verdict, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local held = redis.call('GET', KEYS[1]) == token
local before = tonumber(redis.call('HGET', failures, service) or '0')
local now = before
if held then
  local logged = {}
  for at = 7, #ARGV, 5 do
    local name, rv, uid, index, body = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
    local stored = redis.call('HGET', base .. 'slice', name)
    local old = stored and split(stored) or nil
    if body == '' then
      bury(base, 'slice', name, rv, uid, ttl)
      if old and old.uid == uid then remove_slice(base, name, old.index) end
    elseif not (old and not newer(rv, old.rv)) and not buried(base, 'slice', name, rv, uid) then
      write_slice(base, name, rv, uid, index, body)
    end
    logged[#logged + 1] = 'slice'
    logged[#logged + 1] = name
  end
  log_changes(base, logged)
  redis.call('DEL', KEYS[1])
end
if verdict == 'failed' and held then
  now = redis.call('HINCRBY', failures, service, 1)
elseif verdict == 'ok' and held and before > 0 then
  redis.call('HDEL', failures, service)
  now = 0
end
return { held and 1 or 0, before, now }
