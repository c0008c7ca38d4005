-- Acquires a permit if one is free. A permit is dropped at its deadline, so that a dead holder does not keep it.
-- KEYS[1] the semaphore: a sorted set of token to deadline, in ms by Redis' own clock. ARGV[1] the holder's token,
-- ARGV[2] the TTL in ms, ARGV[3] the number of permits.
-- Returns how many are held now, including this one, or 0 when none is free.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local held = redis.call('ZCARD', KEYS[1])
if held >= tonumber(ARGV[3]) then
  return 0
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
-- The key lasts as long as its longest permit.
redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[2]), redis.call('PTTL', KEYS[1])))
return held + 1
