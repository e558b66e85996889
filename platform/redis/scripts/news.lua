-- Which of these versions of slices the view does not know yet. Most slice events are echoes of our
-- own writes; this tells them apart without sending the slices.
-- KEYS[1] pending (carries the hash tag)   ARGV base, kind, then name, rv, uid for each
-- Returns 1 (news) or 0 (known, or known better) each
local base, kind = ARGV[1], ARGV[2]
local answers = {}
for at = 3, #ARGV, 3 do
  local name, rv, uid = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local stored = redis.call('HGET', base .. kind, name)
  local known = stored and not newer(rv, string.match(stored, '^[^\n]*'))
  answers[#answers + 1] = (known or buried(base, kind, name, rv, uid)) and 0 or 1
end
return answers
