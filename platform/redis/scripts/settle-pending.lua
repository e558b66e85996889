-- Takes keys off the pending set once their queue add has returned, unless they were dirtied again
-- since (then the score is newer, and whoever made that change owes an add of its own).
-- KEYS[1] pending   ARGV score, service names …   Returns how many were taken off
local score = tonumber(ARGV[1])
local settled = 0
for at = 2, #ARGV do
  local current = redis.call('ZSCORE', KEYS[1], ARGV[at])
  if current and tonumber(current) <= score then
    settled = settled + redis.call('ZREM', KEYS[1], ARGV[at])
  end
end
return settled
