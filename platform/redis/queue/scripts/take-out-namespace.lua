-- Takes the jobs of one namespace out of a queue, wherever they stand in line, with what is kept beside
-- them. Those that run stay: their worker ends them.
--
-- At one go, as a job goes from line to line meanwhile and would be missed. It looks at every job of the
-- queue; those of other namespaces cost one read each.
--
-- KEYS     wait, prioritized, delayed, active, the on-demand jobs that were put off
-- ARGV[1]  what the keys of the queue begin with
-- ARGV[2]  the namespace
-- Returns  { how many were taken out, how many run }
local wait, prioritized, delayed, active, put_off = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local base, namespace = ARGV[1], ARGV[2]
local beginning = namespace .. '/'
local taken, running = 0, 0

local function is_of_namespace(job)
  local data = redis.call('HGET', base .. job, 'data')
  -- To look for the name is much cheaper than to decode, and a name is never written in another way.
  if not data or not string.find(data, namespace, 1, true) then return false end
  local decoded, fields = pcall(cjson.decode, data)
  local key = decoded and type(fields) == 'table' and fields.key
  return type(key) == 'string' and string.sub(key, 1, #beginning) == beginning
end

local function forget(job)
  local id = redis.call('HGET', base .. job, 'deid')
  -- Another job may stand for the key by now.
  if id and redis.call('GET', base .. 'de:' .. id) == job then
    redis.call('DEL', base .. 'de:' .. id, base .. 'dn:' .. id)
  end
  redis.call('DEL', base .. job)
  redis.call('ZREM', put_off, job)
  taken = taken + 1
end

for _, job in ipairs(redis.call('LRANGE', wait, 0, -1)) do
  if is_of_namespace(job) then
    redis.call('LREM', wait, 1, job)
    forget(job)
  end
end
for _, line in ipairs({ prioritized, delayed }) do
  for _, job in ipairs(redis.call('ZRANGE', line, 0, -1)) do
    if is_of_namespace(job) then
      redis.call('ZREM', line, job)
      forget(job)
    end
  end
end
for _, job in ipairs(redis.call('LRANGE', active, 0, -1)) do
  if is_of_namespace(job) then
    if redis.call('EXISTS', base .. job .. ':lock') == 1 then
      running = running + 1
    else
      -- Its worker died: it would be put back into line, now or when the next worker starts.
      redis.call('LREM', active, 1, job)
      forget(job)
    end
  end
end
return { taken, running }
