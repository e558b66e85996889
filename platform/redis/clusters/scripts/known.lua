-- Some names of one kind that the view has, without their records, which may be large.
-- KEYS[1] hash of the kind   ARGV cursor ('0' at first), how many, roughly
-- Returns { next cursor ('0' at the end), name, name, … }
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local reply = { page[1] }
for at = 1, #page[2], 2 do reply[#reply + 1] = page[2][at] end
return reply
