-- Tries each command that the product's and BullMQ's scripts use, on a key that is not there, and tells
-- which of them this user may not use.
-- KEYS[1] a key that is used for nothing else   ARGV channel
-- Returns { command, … }, '&' for the channel
local key, channel = KEYS[1], ARGV[1]
local tries = {
  { 'get', key }, { 'set', key, '1', 'px', '1000' }, { 'incr', key }, { 'pexpire', key, '1000' },
  { 'exists', key }, { 'pttl', key }, { 'del', key }, { 'unlink', key },
  { 'hset', key, 'a', '1' }, { 'hsetnx', key, 'a', '1' }, { 'hmset', key, 'a', '1' },
  { 'hincrby', key, 'a', '1' }, { 'hget', key, 'a' }, { 'hmget', key, 'a' }, { 'hgetall', key },
  { 'hkeys', key }, { 'hvals', key }, { 'hlen', key }, { 'hexists', key, 'a' }, { 'hscan', key, '0' },
  { 'hdel', key, 'a' },
  { 'sadd', key, 'a' }, { 'smembers', key }, { 'sismember', key, 'a' }, { 'scard', key },
  { 'sinter', key }, { 'srandmember', key, '1' }, { 'srem', key, 'a' },
  { 'zadd', key, '1', 'a' }, { 'zscore', key, 'a' }, { 'zcard', key }, { 'zcount', key, '0', '1' },
  { 'zrange', key, '0', '0' }, { 'zrevrange', key, '0', '0' }, { 'zrangebyscore', key, '0', '1' },
  { 'zrevrangebyscore', key, '1', '0' }, { 'zpopmin', key }, { 'zremrangebyscore', key, '0', '1' },
  { 'zremrangebyrank', key, '0', '1' }, { 'zrem', key, 'a' },
  { 'lpush', key, 'a' }, { 'rpush', key, 'a' }, { 'llen', key }, { 'lindex', key, '0' },
  { 'lrange', key, '0', '0' }, { 'lpos', key, 'a' }, { 'ltrim', key, '0', '0' },
  { 'rpoplpush', key, key }, { 'lrem', key, '0', 'a' }, { 'rpop', key }, { 'lpop', key },
  { 'xadd', key, 'MAXLEN', '1', '*', 'a', '1' }, { 'xrange', key, '-', '+' },
  { 'xrevrange', key, '+', '-' }, { 'xtrim', key, 'MAXLEN', '0' }, { 'del', key },
  { 'time' }, { 'publish', channel, '' },
}
local denied, seen = {}, {}
for _, try in ipairs(tries) do
  local reply = redis.pcall(unpack(try))
  local text = type(reply) == 'table' and reply.err or ''
  -- As versions 6.2, 7 and Valkey say it; the last one of a command that an operator took away.
  local refused = string.find(text, 'NOPERM') or string.find(text, 'ACL failure')
    or string.find(text, 'user executing the script') or string.find(text, 'Unknown Redis command')
    or string.find(text, 'Unknown command')
  if refused then
    local name = string.find(text, 'channel') and '&' or try[1]
    if not seen[name] then denied[#denied + 1] = name end
    seen[name] = true
  end
end
redis.pcall('del', key)
return denied
