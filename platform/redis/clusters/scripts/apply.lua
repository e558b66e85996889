-- Brings a batch of watch events, a page of a list, or what a list did not show into the view of one
-- generation, and tells those who look up what changed, in one atomic step.
--
-- KEYS[1]  number of the generation that serves
-- ARGV     base, channel, cluster, generation, tombstone TTL (ms), most objects, most names told,
--          then six for each change: op ('+' is there, '-' is gone), kind, key, rv, uid, service; for '+'
--          the body as a seventh
-- Returns  { 0 } when the generation is closed, else
--          { 1, accepted, changed, over, objects, contradicted }
--          accepted: versions that the view did not know; changed: of these, what look-ups can tell
--          apart; over: objects that had no room; contradicted: the oldest of the versions by which the
--          view knew better than an object that is there, '' if none
local base, channel, cluster, generation = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local ttl, most, most_names = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
if not is_open(base) then return { 0 } end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local objects = count_objects(base)
local accepted, changed, over, contradicted = 0, 0, 0, ''
local told, told_count = { service = {}, workload = {} }, 0
local newest = {}

-- Deletions are remembered for a while: what trails behind them must not bring an object back.
local stones, stone_times = base .. 'gone', base .. 'gone-at'

local MOST_STONES, STONES_A_CALL = 50000, 1000

local function forget_old_stones()
  local old = redis.call('ZRANGEBYSCORE', stone_times, '-inf', now, 'LIMIT', 0, STONES_A_CALL)
  local spare = math.min(redis.call('ZCARD', stone_times) - MOST_STONES, STONES_A_CALL)
  if #old == 0 and spare > 0 then old = redis.call('ZRANGE', stone_times, 0, spare - 1) end
  if #old == 0 then return end
  redis.call('HDEL', stones, unpack(old))
  redis.call('ZREM', stone_times, unpack(old))
end

local function bury(id, rv)
  redis.call('HSET', stones, id, rv)
  redis.call('ZADD', stone_times, now + ttl, id)
end

local function contradict(rv)
  if contradicted == '' or newer(contradicted, rv) then contradicted = rv end
end

local function split(record)
  local rv, uid, service, body = string.match(record, '^([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$')
  return { rv = rv, uid = uid, service = service, body = body }
end

-- A slice is told by its Service, whichever it was or is.
local function tell(kind, key)
  local list = kind == 'workload' and told.workload or told.service
  if key == '' or list[key] then return end
  list[key] = true
  told_count = told_count + 1
end

local function tell_change(kind, key, old, new)
  changed = changed + 1
  if kind ~= 'slice' then return tell(kind, key) end
  if old then tell(kind, old.service) end
  if new then tell(kind, new.service) end
end

local function upsert(kind, key, new, text)
  local stored = redis.call('HGET', base .. kind, key)
  local old = stored and split(stored) or nil
  local known = old and old.rv or redis.call('HGET', stones, kind .. ':' .. key)
  if known and not newer(new.rv, known) then
    if newer(known, new.rv) or not old then contradict(known) end
    return
  end
  if not old and objects >= most then
    over = over + 1
    return
  end
  if not old then objects = objects + 1 end
  accepted = accepted + 1
  redis.call('HSET', base .. kind, key, text)
  local moved = not old or old.service ~= new.service
  if kind == 'slice' and moved then
    if old then redis.call('SREM', base .. 'of:' .. old.service, key) end
    redis.call('SADD', base .. 'of:' .. new.service, key)
  end
  if moved or old.uid ~= new.uid or old.body ~= new.body then tell_change(kind, key, old, new) end
end

-- A deletion takes only what is not newer than it.
local function remove(kind, key, rv)
  local stored = redis.call('HGET', base .. kind, key)
  local old = stored and split(stored) or nil
  if old and newer(old.rv, rv) then return end
  local id = kind .. ':' .. key
  local stone = redis.call('HGET', stones, id)
  if not stone or newer(rv, stone) then bury(id, rv) end
  if not old then return end
  accepted = accepted + 1
  objects = objects - 1
  redis.call('HDEL', base .. kind, key)
  if kind == 'slice' then redis.call('SREM', base .. 'of:' .. old.service, key) end
  tell_change(kind, key, old, nil)
end

local at = 8
while at <= #ARGV do
  local op, kind, key = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local new = { rv = ARGV[at + 3], uid = ARGV[at + 4], service = ARGV[at + 5] }
  if op == '+' then
    new.body = ARGV[at + 6]
    upsert(kind, key, new, table.concat({ new.rv, new.uid, new.service, new.body }, '\n'))
    at = at + 7
  else
    remove(kind, key, new.rv)
    at = at + 6
  end
  if not newest[kind] or newer(new.rv, newest[kind]) then newest[kind] = new.rv end
end
forget_old_stones()

-- How far the view is, for who takes over: a later list that is older tells that history went back.
for kind, rv in pairs(newest) do
  local position = redis.call('HGET', base .. 'meta', 'rv:' .. kind)
  if not position or newer(rv, position) then redis.call('HSET', base .. 'meta', 'rv:' .. kind, rv) end
end

local function names(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = cjson.encode(name) end
  return '[' .. table.concat(list, ',') .. ']'
end

if changed > 0 and is_serving(KEYS[1], generation) then
  local all = told_count > most_names
  publish(channel, cluster, generation,
    all and '"all"' or names(told.service) .. ',' .. names(told.workload))
end
return { 1, accepted, changed, over, objects, contradicted }
