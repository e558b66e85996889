-- Tells for each workload (or the Service) that a plan believes gone whether the view KNOWS that it
-- is gone, or merely does not know it. That an earlier object of the name is gone says nothing.
-- KEYS[1] pending (carries the hash tag)   ARGV base, then kind, name, uid for each
-- Returns one of 'known' (there, or replaced by another object of that name) | 'deleted' | 'unknown' each
local base = ARGV[1]
local answers = {}
for at = 2, #ARGV, 3 do
  local kind, name, uid = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local answer = 'unknown'
  if redis.call('HEXISTS', base .. kind, name) == 1 then
    answer = 'known'
  elseif deletion(base, kind, name, uid) then
    answer = 'deleted'
  end
  answers[#answers + 1] = answer
end
return answers
