-- Says that these kinds of a namespace are in sync, for the next `ttl` ms; unless its birth mark is gone or
-- another one. Then the namespace lost its data, which the caller must rebuild; or a watcher left it as there
-- was nothing in it (leave-namespace), which is no loss.
-- KEYS[1] birth mark   ARGV base, expected birth mark, ttl (ms), kinds …
-- Returns 1 when they are marked; 0 when the data is not what the caller filled; 2 when the namespace was left
--         and there is nothing in it; 3 when it was left and is in use again: to be opened anew
local base, expected = ARGV[1], ARGV[2]
local born = redis.call('GET', KEYS[1])
if born ~= expected then
  if redis.call('SISMEMBER', base .. 'left', expected) == 0 then return 0 end
  return (born or holds_anything(base)) and 3 or 2
end
for at = 4, #ARGV do
  redis.call('SET', base .. 'm:' .. ARGV[at], '1', 'PX', ARGV[3])
end
return 1
