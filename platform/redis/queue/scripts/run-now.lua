-- Makes a job that backs off run now, if an event of its key came while it ran.
--
-- BullMQ keeps such an event beside the job (`dn`, keepLastIfActive) until the job finishes, so it
-- would wait out the backoff. The run that follows sees what the event was about: one run is
-- enough, so the event is taken off. This is safe whenever the job is in `delayed`: from then on
-- BullMQ reschedules the job for each new event and stores none.
--
-- KEYS[1]  delayed: the sorted set of jobs that back off (score: ms * 4096)
-- KEYS[2]  the stored event
-- KEYS[3]  marker: what idle workers block on
-- KEYS[4]  the job
-- ARGV[1]  id of the job
-- ARGV[2]  the job's field for when it was due (waiting-since.ts)
-- ARGV[3]  now, ms since 1970
-- Returns  1 when the job runs now, 0 when there was no event or the job does not back off
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if redis.call('DEL', KEYS[2]) == 0 then return 0 end
-- Due since ever: no clock is compared.
redis.call('ZADD', KEYS[1], 0, ARGV[1])
redis.call('HSET', KEYS[4], 'delay', 0, ARGV[2], ARGV[3])
redis.call('ZADD', KEYS[3], 0, '1')
return 1
