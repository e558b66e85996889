-- Frees keys whose de-duplication id points at a job that is in no line any more: part of the queue
-- was lost, by somebody's hand or a partial restore, and such an id would swallow every further add.
-- (BullMQ itself recovers when the job is gone altogether.) A job that waits costs two look-ups.
--
-- KEYS     wait, active, prioritized, delayed
-- ARGV[1]  what the keys of the queue begin with
-- ARGV     from 2: de-duplication ids
-- Returns  the ids that were freed
local wait, active, prioritized, delayed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local base = ARGV[1]
local freed = {}
for at = 2, #ARGV do
  local job = redis.call('GET', base .. 'de:' .. ARGV[at])
  if job
    and not redis.call('ZSCORE', prioritized, job)
    and not redis.call('ZSCORE', delayed, job)
    and not redis.call('LPOS', active, job)
    and not redis.call('LPOS', wait, job)
  then
    redis.call('DEL', base .. 'de:' .. ARGV[at], base .. 'dn:' .. ARGV[at], base .. job)
    freed[#freed + 1] = ARGV[at]
  end
end
return freed
