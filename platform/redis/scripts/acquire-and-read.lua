-- Takes the lock of a Service's key and, with it, reads all that its reconcile needs: one round trip.
-- A workload is found through the sets of its labels, never by going through the namespace. A reader
-- that still has a large Service from an earlier run gets only what changed since.
--
-- KEYS[1]  lock of the key
-- ARGV     token, lock TTL (ms), base, service name, 'read' or 'lock',
--          and of what the reader has: version of the Service, last entry of the log ('' if nothing)
-- Returns  { 0, ms left }                    the lock is held elsewhere
--          { 1, 0 }                          held; not read, the view is not in sync, or in doubt of this key
--          { 1, 1, service or '', UID of the one that is known to be deleted or '', { slices },
--            { workloads }, last entry or '' }
--          { 1, 2, last entry, { slices }, { names of slices gone }, { workloads }, { names gone } }
local token, ttl, base, service = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- Smaller Services are read as fast as their changes.
local LARGE = 64
if not redis.call('SET', KEYS[1], token, 'NX', 'PX', ttl) then
  return { 0, redis.call('PTTL', KEYS[1]) }
end
if ARGV[5] ~= 'read' then return { 1, 0 } end
if redis.call('EXISTS', base .. 'm:service', base .. 'm:workload', base .. 'm:slice') < 3
  or redis.call('EXISTS', base .. 'doubt:' .. service) == 1
then
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

-- Names that changed since that entry of the log, by kind, and the last entry; nil when the log no
-- longer says.
local function changed_since(entry)
  local entries = redis.call('XRANGE', base .. 'log', entry, '+')
  if not entries[1] or entries[1][1] ~= entry then return nil end
  local names = { slice = {}, workload = {} }
  for at = 2, #entries do
    local fields = entries[at][2]
    for field = 1, #fields, 2 do
      if fields[field] == 'all' then return nil end
      names[fields[field]][fields[field + 1]] = true
    end
  end
  return names, entries[#entries][1]
end

-- Those of the named objects that belong to the Service, and the names of the others.
local function sift(kind, names, belongs)
  local there, gone = {}, {}
  for name in pairs(names) do
    local record = redis.call('HGET', base .. kind, name)
    if record and belongs(split(record).index) then
      there[#there + 1] = record
    else
      gone[#gone + 1] = name
    end
  end
  return there, gone
end

local record = redis.call('HGET', base .. 'service', service)
local rv, selector
if record then
  local parts = split(record)
  rv, selector = parts.rv, cjson.decode(parts.index)
end

if record and ARGV[7] ~= '' and rv == ARGV[6] then
  local changed, entry = changed_since(ARGV[7])
  if changed then
    local slices, slices_gone = sift('slice', changed.slice, function(index) return index == service end)
    local workloads, workloads_gone = sift('workload', changed.workload, function(index)
      return satisfies(cjson.decode(index), selector)
    end)
    return { 1, 2, entry, slices, slices_gone, workloads, workloads_gone }
  end
end

local slices = fetch(base .. 'slice', redis.call('SMEMBERS', base .. 'ss:' .. service))
if not record then
  local stone = redis.call('GET', tombstone_key(base, 'service', service)) or ''
  return { 1, 1, '', string.match(stone, '^[^\n]*'), slices, {} }
end

local sets = {}
for key, value in pairs(selector) do
  sets[#sets + 1] = base .. 'wl:' .. key .. '=' .. value
end
local names = #sets > 0 and redis.call('SINTER', unpack(sets)) or {}
local last = #names >= LARGE and redis.call('XREVRANGE', base .. 'log', '+', '-', 'COUNT', 1)[1]
return { 1, 1, record, '', slices, fetch(base .. 'workload', names), last and last[1] or '' }
