-- Brings a batch of watch events (or a page of a list) of one namespace into the view, and marks the
-- Services that they dirty as pending, in one atomic step: nothing can fall between the two, and
-- which watcher delivered an event does not matter (the old state is the view's own).
--
-- KEYS[1]  pending: sorted set of Service names, by the time (µs, Redis' clock) of the change
-- ARGV     base, tombstone TTL (ms), then seven for each change:
--          op ('+' is there, '-' is gone), kind ('service'|'workload'|'slice'), name, rv, uid, index, body
--          (of what is gone: the index if it is known, no body)
-- Returns  { accepted, refused, score, contradicted, service, why, service, why, … }
--          contradicted: the oldest of the versions by which the view knew better than a change of '+',
--          '' if none
local base, ttl = ARGV[1], ARGV[2]
local accepted, refused, contradicted = 0, 0, ''
local dirty = {}
local selectors = {}

local function mark(service, why)
  if service ~= '' and not dirty[service] then dirty[service] = why end
end

-- The selector of a Service, decoded once a call.
local function selector_of(service)
  if selectors[service] == nil then
    local record = redis.call('HGET', base .. 'service', service)
    selectors[service] = record and cjson.decode(split(record).index) or false
  end
  return selectors[service]
end

local function selects(service, labels)
  local selector = selector_of(service)
  return selector and satisfies(labels, selector)
end

-- Services whose selector these labels satisfy. Each Service is filed under ONE pair of its selector,
-- so the cost follows the labels of the workload, not the number of Services in the namespace.
local function matching(labels)
  local found = {}
  for key, value in pairs(labels) do
    for _, service in ipairs(redis.call('SMEMBERS', base .. 'sel:' .. key .. '=' .. value)) do
      if selects(service, labels) then found[service] = true end
    end
  end
  return found
end

local function unfile_service(name, index)
  for key, value in pairs(cjson.decode(index)) do
    redis.call('SREM', base .. 'sel:' .. key .. '=' .. value, name)
  end
end

-- Files a Service under the pair of its selector that the fewest others are filed under.
local function file_service(name, index)
  local best, fewest
  for key, value in pairs(cjson.decode(index)) do
    local set = base .. 'sel:' .. key .. '=' .. value
    local count = redis.call('SCARD', set)
    if not fewest or count < fewest or (count == fewest and set < best) then
      best, fewest = set, count
    end
  end
  if best then redis.call('SADD', best, name) end
end

local function service_changed(name, old, new)
  local same = old and new and old.uid == new.uid and old.index == new.index and old.body == new.body
  if not same then mark(name, 'service') end
  if old and new and old.index == new.index then return end
  if old then unfile_service(name, old.index) end
  if new then file_service(name, new.index) end
  selectors[name] = nil
end

local function index_labels(name, labels, command)
  for key, value in pairs(labels) do
    redis.call(command, base .. 'wl:' .. key .. '=' .. value, name)
  end
end

local ZONE = 'topology.kubernetes.io/zone'

-- Which Services a changed workload dirties: those of its old and of its new labels; labels only
-- (zone unchanged): just those that gained or lost it (as Kubernetes' EndpointSlice controller).
local function workload_changed(name, old, new)
  local before = old and cjson.decode(old.index) or {}
  local after = new and cjson.decode(new.index) or {}
  local relabelled = not (old and new) or old.index ~= new.index
  local reaches = not (old and new) or old.uid ~= new.uid or old.body ~= new.body
    or before[ZONE] ~= after[ZONE]
  if not relabelled and not reaches then return end
  local left = matching(before)
  local joined = relabelled and matching(after) or left
  for service in pairs(left) do
    if reaches or not joined[service] then mark(service, 'workload') end
  end
  for service in pairs(joined) do
    if reaches or not left[service] then mark(service, 'workload') end
  end
  if relabelled then
    index_labels(name, before, 'SREM')
    index_labels(name, after, 'SADD')
  end
end

local function slice_changed(name, old, new)
  if old then mark(old.index, 'slice') end
  if new then mark(new.index, 'slice') end
end

local changed = { service = service_changed, workload = workload_changed, slice = slice_changed }

-- The view knows the object by a version that is not the one given, and is not to be replaced by it.
local function contradict(known, rv)
  if known == rv then return end
  if contradicted == '' or newer(contradicted, known) then contradicted = known end
end

local function upsert(kind, name, new)
  local stored = redis.call('HGET', base .. kind, name)
  local old = stored and split(stored) or nil
  if old and not newer(new.rv, old.rv) then
    contradict(old.rv, new.rv)
    return false
  end
  if buried(base, kind, name, new.rv, new.uid) then
    -- A run notes a deletion by the version that it deleted: a list from before shows that very version.
    local _, dead_rv = deletion(base, kind, name, new.uid)
    contradict(dead_rv, new.rv)
    return false
  end
  if kind == 'slice' then
    write_slice(base, name, new.rv, new.uid, new.index, new.body)
  else
    redis.call('HSET', base .. kind, name, table.concat({ new.rv, new.uid, new.index, new.body }, '\n'))
  end
  changed[kind](name, old, new)
  return true
end

-- An object that came and went between two batches: the view never had it, but a run may have made it (a
-- slice, recorded at the end of the run) or seen it (read live). So whom it concerned is dirty; unless its
-- deletion is one that a run has recorded.
local function remove_unknown(kind, name, gone)
  local recorded = deletion(base, kind, name, gone.uid) == true
  if gone.uid == '' or buried(base, kind, name, gone.rv, gone.uid) then return false end
  bury(base, kind, name, gone.rv, gone.uid, ttl)
  if recorded or gone.index == '' then return false end
  changed[kind](name, gone, nil)
  return true
end

-- A deletion without a uid is one that a list found out: it takes only what is not newer than it.
local function remove(kind, name, gone)
  local stored = redis.call('HGET', base .. kind, name)
  if not stored then return remove_unknown(kind, name, gone) end
  local old = split(stored)
  if newer(old.rv, gone.rv) then return false end
  bury(base, kind, name, gone.rv, gone.uid ~= '' and gone.uid or old.uid, ttl)
  if kind == 'slice' then
    remove_slice(base, name, old.index)
  else
    redis.call('HDEL', base .. kind, name)
  end
  changed[kind](name, old, nil)
  return true
end

local logged = {}
for at = 3, #ARGV, 7 do
  local op, kind, name = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local object = { rv = ARGV[at + 3], uid = ARGV[at + 4], index = ARGV[at + 5], body = ARGV[at + 6] }
  local apply = op == '+' and upsert or remove
  local done = apply(kind, name, object)
  if done then accepted = accepted + 1 else refused = refused + 1 end
  -- Whether a Service changed, readers see by its version.
  if done and kind ~= 'service' then
    logged[#logged + 1] = kind
    logged[#logged + 1] = name
  end
end
log_changes(base, logged)

local now = redis.call('TIME')
local score = now[1] .. string.format('%06d', tonumber(now[2]))
local reply = { accepted, refused, score, contradicted }
for service, why in pairs(dirty) do
  redis.call('ZADD', KEYS[1], score, service)
  reply[#reply + 1] = service
  reply[#reply + 1] = why
end
return reply
