-- Says that these kinds of a namespace are in sync, for the next `ttl` ms; unless the namespace lost
-- its data meanwhile (the birth mark is gone or another one), which the caller must rebuild.
-- KEYS[1] birth mark   ARGV base, expected birth mark, ttl (ms), kinds …
-- Returns 1, or 0 when the data is not what the caller filled
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return 0 end
for at = 4, #ARGV do
  redis.call('SET', ARGV[1] .. 'm:' .. ARGV[at], '1', 'PX', ARGV[3])
end
return 1
