-- Lets look-ups read this generation from now on, unless it is closed, not synced, or a newer one
-- serves; tells them.
-- KEYS[1] number of the generation that serves
-- ARGV    base, channel, cluster, generation
-- Returns 1 when this generation serves now, else 0
local base, channel, cluster, generation = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not is_open(base) then return 0 end
for _, kind in ipairs(KINDS) do
  if redis.call('HGET', base .. 'meta', 'synced:' .. kind) ~= '1' then return 0 end
end
local serving = redis.call('GET', KEYS[1])
if serving == generation then return 1 end
if serving and tonumber(serving) > tonumber(generation) then return 0 end
redis.call('SET', KEYS[1], generation)
publish(channel, cluster, generation, '"all"')
return 1
