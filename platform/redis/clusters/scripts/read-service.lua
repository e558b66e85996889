-- What the serving generation knows of one Service, in one round trip.
-- KEYS[1] number of the generation that serves
-- ARGV    what names of keys begin with, up to the generation; the Service
-- Returns { '0' } when nothing serves, or what serves was not listed in full, else
--         { generation, record of the Service or '', key of a slice, its record, … }
local serving, service = redis.call('GET', KEYS[1]), ARGV[2]
if not serving then return { '0' } end
local base = ARGV[1] .. serving .. ':'
for _, kind in ipairs(KINDS) do
  if redis.call('HGET', base .. 'meta', 'synced:' .. kind) ~= '1' then return { '0' } end
end

local reply = { serving, redis.call('HGET', base .. 'service', service) or '' }
local keys = redis.call('SMEMBERS', base .. 'of:' .. service)
-- In steps: Lua hands over a limited number of arguments at once.
for from = 1, #keys, 1000 do
  local upto = math.min(from + 999, #keys)
  local records = redis.call('HMGET', base .. 'slice', unpack(keys, from, upto))
  for at = from, upto do
    local record = records[at - from + 1]
    if record then
      reply[#reply + 1] = keys[at]
      reply[#reply + 1] = record
    end
  end
end
return reply
