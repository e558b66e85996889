-- Prolongs a lock that is still ours; also the check before a write.
-- KEYS[1] lock   ARGV token, TTL (ms)   Returns 1 while held, 0 once lost
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
