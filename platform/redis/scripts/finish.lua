-- Ends a run: records the slices that it wrote and deleted, settles the key's count of failures, and
-- gives the lock back. Slices are recorded only while the token still holds: what was written after
-- the lock was lost stays unknown, so that its echo dirties the key and heals it. So does what was written in
-- a namespace that watchers have left, or never opened: nobody would take the record out again.
--
-- KEYS[1]  lock of the key
-- ARGV     token, base, key of the failure counts, service name, 'ok'|'failed'|'neutral', tombstone TTL
--          (ms), first and longest step of the backoff (ms), then five for each slice: name, rv, uid,
--          index, body; an empty body: it was deleted
--          (only whoever holds the lock may touch the count: it is the running one's)
-- Returns  { held 0|1, failures before, failures now }
local token, base, failures, service, verdict, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local first_step, longest_step = tonumber(ARGV[7]), tonumber(ARGV[8])
local held = redis.call('GET', KEYS[1]) == token
local before = tonumber(redis.call('HGET', failures, service) or '0')
local now = before
if held then
  local logged = {}
  local opened = #ARGV > 8 and redis.call('EXISTS', base .. 'born') == 1
  for at = 9, #ARGV, 5 do
    local name, rv, uid, index, body = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
    local stored = redis.call('HGET', base .. 'slice', name)
    local old = stored and split(stored) or nil
    if body == '' then
      bury(base, 'slice', name, rv, uid, ttl)
      if old and old.uid == uid then remove_slice(base, name, old.index) end
    elseif opened and not (old and not newer(rv, old.rv)) and not buried(base, 'slice', name, rv, uid) then
      write_slice(base, name, rv, uid, index, body)
    end
    if opened then
      logged[#logged + 1] = 'slice'
      logged[#logged + 1] = name
    end
  end
  log_changes(base, logged)
  redis.call('DEL', KEYS[1])
end
-- An event makes a key run before its delay is over. Such a failure is no news about a cause that has
-- had no time to go: it counts only once half of the last step is over, which is when the key would
-- have come again by itself at the earliest. Else a busy key is at the cap after a second of trouble.
-- When the count last rose is kept beside it, under a name that no Service can have.
local raised = service .. ' raised'
if verdict == 'failed' and held then
  local time = redis.call('TIME')
  local clock = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local last = tonumber(redis.call('HGET', failures, raised) or '')
  local step = math.min(longest_step, first_step * 2 ^ (before - 1))
  if before == 0 or not last or clock < last or clock - last >= step / 2 then
    now = redis.call('HINCRBY', failures, service, 1)
    redis.call('HSET', failures, raised, clock)
  end
elseif verdict == 'ok' and held and before > 0 then
  redis.call('HDEL', failures, service, raised)
  now = 0
end
return { held and 1 or 0, before, now }
