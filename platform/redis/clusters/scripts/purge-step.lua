-- Drops the sets of some Services' slices of a closed generation; the rest of its keys, which are few,
-- once it has been through all of them.
-- KEYS[1] generations that have keys   ARGV base, generation, cursor ('0' at first), how many, roughly
-- Returns the next cursor, '0' at the end
local base, generation = ARGV[1], ARGV[2]
if is_open(base) then return '0' end
local page = redis.call('HSCAN', base .. 'slice', ARGV[3], 'COUNT', ARGV[4])
for at = 2, #page[2], 2 do
  local service = string.match(page[2][at], '^[^\n]*\n[^\n]*\n([^\n]*)\n')
  if service then redis.call('UNLINK', base .. 'of:' .. service) end
end
if page[1] ~= '0' then return page[1] end
redis.call('UNLINK', base .. 'service', base .. 'slice', base .. 'workload', base .. 'meta',
  base .. 'gone', base .. 'gone-at')
redis.call('SREM', KEYS[1], generation)
return '0'
