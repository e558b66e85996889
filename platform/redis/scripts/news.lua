-- Which of these versions of slices the view does not know yet. Most slice events are echoes of our
-- own writes; this tells them apart without sending the slices.
-- KEYS[1] pending (carries the hash tag)   ARGV base, kind, then for each: op ('+' is there, '-' is
--         gone), name, rv, uid
-- Returns 1 (news) or 0 (known, or known better) each
local base, kind = ARGV[1], ARGV[2]
local answers = {}
local function known(op, name, rv, uid)
  local stored = redis.call('HGET', base .. kind, name)
  if stored then return not newer(rv, string.match(stored, '^[^\n]*')) end
  -- The deletion that a worker records has the version that it deleted, its echo a newer one.
  return buried(base, kind, name, rv, uid) or (op == '-' and deletion(base, kind, name, uid) == true)
end

for at = 3, #ARGV, 4 do
  answers[#answers + 1] = known(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]) and 0 or 1
end
return answers
