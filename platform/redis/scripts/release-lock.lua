-- Gives a lock back that is still ours.
-- KEYS[1] lock   ARGV token   Returns 1 when it was held, 0 once lost
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
