-- The time by Redis' clock: of a Cluster by that of the master which has the key.
-- KEYS[1] any key   Returns { seconds since 1970, µs of the second }
return redis.call('TIME')
