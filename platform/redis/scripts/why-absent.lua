-- Tells for each workload (or the Service) that a plan believes gone whether the view KNOWS that it
-- is gone, or merely does not know it.
-- KEYS[1] pending (carries the hash tag)   ARGV base, then kind, name, uid for each
-- Returns one of 'known' (there, or replaced by another object of that name) | 'deleted' | 'unknown' each
local base = ARGV[1]
local answers = {}
for at = 2, #ARGV, 3 do
  local kind, name = ARGV[at], ARGV[at + 1]
  local answer = 'unknown'
  if redis.call('HEXISTS', base .. kind, name) == 1 then
    answer = 'known'
  elseif redis.call('EXISTS', tombstone_key(base, kind, name)) == 1 then
    answer = 'deleted'
  end
  answers[#answers + 1] = answer
end
return answers
