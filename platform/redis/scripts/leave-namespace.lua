-- Forgets a namespace in which there is nothing any more. Its birth mark is kept for a while among those
-- that were left: watchers that still know it learn by that that nothing was lost.
-- KEYS[1] birth mark   ARGV base, birth mark that the caller knows ('' if none), how long it is kept (ms)
-- Returns 1; 0 when there is something in it, or the data is not what the caller filled
local base, expected = ARGV[1], ARGV[2]
local born = redis.call('GET', KEYS[1])
-- Lost data leaves nothing behind, either.
if expected ~= '' and born ~= expected then return 0 end
if holds_anything(base) then return 0 end
if born then
  redis.call('SADD', base .. 'left', born)
  redis.call('PEXPIRE', base .. 'left', ARGV[3])
end
redis.call('UNLINK', KEYS[1], base .. 'log', base .. 'm:service', base .. 'm:workload', base .. 'm:slice')
return 1
