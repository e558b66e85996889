-- Shared by the scripts of linked clusters' views; put in front of each by scripts.ts.
-- All keys of one cluster carry one hash tag, so that a script may reach every key under `base`
-- although it declares but one of them. The field `open` of base .. 'meta' is there until a generation
-- is closed: scripts that write do nothing to a closed one, so that a late write leaves no key behind.

local KINDS = { 'service', 'slice', 'workload' }

-- resourceVersions are unsigned integers of any length: longer is newer, then the text decides.
local function newer(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

local function is_open(base)
  return redis.call('HEXISTS', base .. 'meta', 'open') == 1
end

-- Whether look-ups read this generation; `key` holds the number of the one that they read.
local function is_serving(key, generation)
  return redis.call('GET', key) == generation
end

local function count_objects(base)
  local count = 0
  for _, kind in ipairs(KINDS) do count = count + redis.call('HLEN', base .. kind) end
  return count
end

-- One message of changesChannel; the lists are JSON already.
local function publish(channel, cluster, generation, rest)
  redis.call('PUBLISH', channel, '[' .. cjson.encode(cluster) .. ',' .. generation .. ',' .. rest .. ']')
end
