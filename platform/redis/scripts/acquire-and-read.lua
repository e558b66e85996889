-- Takes the lock of a Service's key and, with it, reads all that its reconcile needs: one round trip.
-- A workload is found through the sets of its labels, never by going through the namespace.
--
-- KEYS[1]  lock of the key
-- ARGV     token, lock TTL (ms), base, service name, 'read' or 'lock'
-- Returns  { 0, ms left }                    the lock is held elsewhere
--          { 1, 0 }                          held; not read, or the view is not in sync
--          { 1, 1, service or '', tombstone 0|1, { slices }, { workloads } }
local token, ttl, base, service = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not redis.call('SET', KEYS[1], token, 'NX', 'PX', ttl) then
  return { 0, redis.call('PTTL', KEYS[1]) }
end
if ARGV[5] ~= 'read' then return { 1, 0 } end
if redis.call('EXISTS', base .. 'm:service', base .. 'm:workload', base .. 'm:slice') < 3 then
  return { 1, 0 }
end

-- HMGET in steps: Lua hands over a limited number of arguments at once.
local function fetch(hash, names)
  local records = {}
  for from = 1, #names, 1000 do
    local part = redis.call('HMGET', hash, unpack(names, from, math.min(from + 999, #names)))
    for _, record in ipairs(part) do
      if record then records[#records + 1] = record end
    end
  end
  return records
end

local slices = fetch(base .. 'slice', redis.call('SMEMBERS', base .. 'ss:' .. service))
local record = redis.call('HGET', base .. 'service', service)
if not record then
  return { 1, 1, '', redis.call('EXISTS', tombstone_key(base, 'service', service)), slices, {} }
end

local sets = {}
for key, value in pairs(cjson.decode(split(record).index)) do
  sets[#sets + 1] = base .. 'wl:' .. key .. '=' .. value
end
local names = #sets > 0 and redis.call('SINTER', unpack(sets)) or {}
return { 1, 1, record, 0, slices, fetch(base .. 'workload', names) }
