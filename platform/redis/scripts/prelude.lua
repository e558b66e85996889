-- Shared by the scripts of the view; put in front of each by scripts.ts.
-- All keys of one namespace carry one hash tag, so that a script may reach every key under `base`
-- although it declares but one of them.

-- resourceVersions are unsigned integers of any length: longer is newer, then the text decides.
local function newer(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

-- A record is four lines: rv, uid, index, body (core/codec.ts).
local function split(record)
  local rv, uid, index, body = string.match(record, '^([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$')
  return { rv = rv, uid = uid, index = index, body = body }
end

local function satisfies(labels, selector)
  for key, value in pairs(selector) do
    if labels[key] ~= value then return false end
  end
  return true
end

local function tombstone_key(base, kind, name)
  return base .. 't:' .. kind .. ':' .. name
end

-- What is known of a deletion: that of this object (true or false), and its version; nothing if none is.
local function deletion(base, kind, name, uid)
  local stone = redis.call('GET', tombstone_key(base, kind, name))
  if not stone then return nil end
  local dead_uid, dead_rv = string.match(stone, '^([^\n]*)\n(.*)$')
  return dead_uid == uid, dead_rv
end

-- True when this version of this object is known to be older than its deletion. A slice may come back
-- under its UID: one that lost our manager label went from the watch as if deleted. The others may not.
local function buried(base, kind, name, rv, uid)
  local same, dead_rv = deletion(base, kind, name, uid)
  if same == nil then return false end
  return not newer(rv, dead_rv) or (same and kind ~= 'slice')
end

local function bury(base, kind, name, rv, uid, ttl)
  redis.call('SET', tombstone_key(base, kind, name), uid .. '\n' .. rv, 'PX', ttl)
end

local function write_slice(base, name, rv, uid, index, body)
  local stored = redis.call('HGET', base .. 'slice', name)
  if stored then
    local old = split(stored)
    if old.index ~= index then redis.call('SREM', base .. 'ss:' .. old.index, name) end
  end
  redis.call('HSET', base .. 'slice', name, rv .. '\n' .. uid .. '\n' .. index .. '\n' .. body)
  redis.call('SADD', base .. 'ss:' .. index, name)
end

local function remove_slice(base, name, index)
  redis.call('HDEL', base .. 'slice', name)
  redis.call('SREM', base .. 'ss:' .. index, name)
end

-- Whether a namespace has any object, or a key that is not in the queue yet.
local function holds_anything(base)
  return redis.call('EXISTS', base .. 'service', base .. 'workload', base .. 'slice', base .. 'pending') > 0
end

-- What changed lately in a namespace, for readers that still have the rest: a stream of the names of
-- workloads and slices. A reader that finds its last entry there has missed nothing since; trimming,
-- a lost Redis or a failover to a replica that lagged take the entry away, and it reads all anew.
local LOG_ENTRIES, LOG_NAMES = 128, 32

-- `names` are kinds and names in turn.
local function log_changes(base, names)
  if #names == 0 then return end
  if #names > 2 * LOG_NAMES then names = { 'all', '' } end
  redis.call('XADD', base .. 'log', 'MAXLEN', LOG_ENTRIES, '*', unpack(names))
end
