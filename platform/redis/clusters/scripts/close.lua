-- Closes generations for writing: what comes late for them changes nothing any more. Their keys are
-- still to be purged.
-- KEYS[1] number of the generation that serves   KEYS[2] generations that have keys
-- ARGV    which: 'one', a generation that does not serve; 'older', all before the one that serves;
--         'gone', the cluster's, up to a generation: none of these serves any more, and look-ups are told
--         a generation (not for 'older'), what names of keys begin with before it, channel, cluster
-- Returns { generation, … }: those that were closed
local which, meant, before = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local channel, cluster = ARGV[4], ARGV[5]
local serving = tonumber(redis.call('GET', KEYS[1]) or '0')
local closes = {
  one = function(number) return number == meant and number ~= serving end,
  older = function(number) return number < serving end,
  gone = function(number) return number <= meant end,
}

local closed = {}
for _, generation in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if closes[which](tonumber(generation)) then
    redis.call('HDEL', before .. generation .. ':meta', 'open')
    closed[#closed + 1] = generation
  end
end
if which == 'gone' and serving > 0 and serving <= meant then
  redis.call('DEL', KEYS[1])
  publish(channel, cluster, 0, '"gone"')
end
return closed
